#!/usr/bin/env bash
# A server of the model on one node: sbatch slurm/vllm.sh MODEL. `squeue` tells the node: its address is the run's baseUrl.
#SBATCH --job-name=rl-vllm
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=24:00:00
#SBATCH --requeue
set -euo pipefail
model=${1:?usage: sbatch slurm/vllm.sh MODEL}
# Whoever reaches the port may use the model, and load adapters of folders that the node sees.
export VLLM_ALLOW_RUNTIME_LORA_UPDATING=1
exec srun vllm serve "$model" --host 0.0.0.0 --port 8000 --tensor-parallel-size "${SLURM_GPUS_ON_NODE:-1}" \
  --enable-lora --max-loras 4 --max-lora-rank 16
