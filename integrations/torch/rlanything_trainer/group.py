"""The processes that train one model together, as torchrun starts them. The first follows the run and tells the others what to train."""

import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

PATIENCE = timedelta(hours=1)
"""What a process waits for the others: longer than a pass takes, or the log's being away."""


class Group:
    """Weights, gradients and moments lie in shares (FSDP), and each process computes its share of an update. A process by itself has all."""

    def __init__(self, device):
        self.size, self.rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
        self.device = torch.device(device)
        self.mesh = None
        if self.size == 1:
            return
        if self.device.type == "cuda":
            self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
            self.here()
        dist.init_process_group("nccl" if self.device.type == "cuda" else "gloo", timeout=PATIENCE)
        self.mesh = init_device_mesh(self.device.type, (self.size,))

    def here(self):
        """A thread of its own begins on the first GPU."""
        if self.size > 1 and self.device.type == "cuda":
            torch.cuda.set_device(self.device)

    def tell(self, job):
        """Gives the first process's job to all."""
        if self.size == 1:
            return job
        self.here()
        told = [job]
        dist.broadcast_object_list(told, src=0, device=self.device)
        return told[0]

    def leave(self, code=0):
        """Ends this process. One of several skips the interpreter's end, which threads of Gloo can abort (pytorch/pytorch#190489)."""
        if self.size == 1:
            sys.exit(code)
        dist.destroy_process_group()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    def shard(self, root, layers):
        """Layers are gathered one at a time; what is in none of them lies with the root."""
        for module in (*layers, root):
            fully_shard(module, mesh=self.mesh)

    def share(self, batches):
        """This process's batches, and what a loss is multiplied by. A pass needs all processes: one that has no batch left makes it for nothing."""
        for at in range(self.rank, -(-len(batches) // self.size) * self.size, self.size):
            # FSDP takes the mean of the gradients over the processes.
            yield (batches[at], self.size) if at < len(batches) else (batches[-1], 0)

    def sum(self, values):
        """Sums over the processes of numbers that each has."""
        if self.size == 1:
            return values
        sums = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(sums)
        return sums.tolist()

    def all(self, value):
        """What each process has, of all processes."""
        if self.size == 1:
            return [value]
        self.here()
        values = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def placed(self, whole, like):
        """A tensor that every process has whole, shared out as another is."""
        whole = whole.to(like.device)
        if not isinstance(like, DTensor):
            return whole
        return distribute_tensor(whole, like.device_mesh, like.placements, src_data_rank=None)

    def gathered(self, named):
        """Tensors whole, in memory of the first process alone."""
        kept = {}
        for name, value in named.items():
            whole = value.detach()
            whole = (whole.full_tensor() if isinstance(whole, DTensor) else whole).cpu().contiguous()
            if self.rank == 0:
                kept[name] = whole
        return kept


def local(tensor):
    """What of a tensor lies with this process."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor
