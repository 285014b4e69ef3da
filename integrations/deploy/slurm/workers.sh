#!/usr/bin/env bash
# Workers of a run, one a node: sbatch --nodes 8 slurm/workers.sh env.join
# The join file lies where every node can read it, with mode 0600.
#SBATCH --job-name=rl-workers
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=12:00:00
#SBATCH --requeue
# Before its time is up, each worker ends its rollouts or hands them back.
#SBATCH --signal=TERM@120
set -euo pipefail
join=${1:?usage: sbatch slurm/workers.sh JOIN_FILE}
join=$(realpath "$join")
# A folder of the node: no two hosts share one.
export RL_RUNS="${SLURM_TMPDIR:-/tmp}/rl-${SLURM_JOB_ID:?}/runs"
# One node that fails does not end the others.
exec srun --kill-on-bad-exit=0 rl start --join "$join"
