#!/usr/bin/env bash
# Updates by PyTorch on several nodes: sbatch --nodes 2 slurm/trainer.sh RUN MODEL [ROLE]
# NATS_URL, and NATS_TOKEN or NATS_USER and NATS_PASSWORD, come from the environment. All nodes see RL_RUNS.
#SBATCH --job-name=rl-trainer
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=32
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --signal=TERM@120
set -euo pipefail
usage='usage: sbatch slurm/trainer.sh RUN MODEL [ROLE]'
run=${1:?$usage} base=${2:?$usage} role=${3:-policy}
: "${NATS_URL:?names the broker}" "${RL_RUNS:?names the folder of the runs}"
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
exec srun torchrun --nnodes "$SLURM_NNODES" --nproc-per-node gpu \
  --rdzv-backend c10d --rdzv-endpoint "$first:29500" --rdzv-id "$SLURM_JOB_ID" \
  -m -- rlanything_trainer --nats "$NATS_URL" --run "$run" --base "$base" --role "$role" --checkpointing
