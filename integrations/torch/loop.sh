#!/usr/bin/env bash
# The loop on one machine: a server of the model, the run, and a trainer each of policy and judge, until the run is over.
#   integrations/torch/loop.sh MODEL RUN [KEY=VALUE ...]      further keys of the config
# SERVER_URL names a server of the model that is there (its base URL with /v1); else vLLM is started on port 8000 of this machine alone.
# SERVER_MODEL is the name by which it knows the model, MODEL where not given. PYTHON is that of the trainer.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -ge 2 ] || { sed -n 3,5p "$0" | cut -c3- >&2; exit 2; }
model=$1 run=$2
shift 2
url=${SERVER_URL:-http://127.0.0.1:8000/v1}
name=${SERVER_MODEL:-$model}
python=${PYTHON:-python3}

lacking() { echo "loop.sh: $1" >&2; exit 1; }
command -v npm >/dev/null || lacking 'npm is not on the PATH: install Node'
"$python" -c 'import rlanything_trainer' 2>/dev/null ||
  lacking "$python has no rlanything_trainer: pip install -c integrations/torch/constraints.txt ./integrations/torch, or name another in PYTHON"
[ -n "${SERVER_URL:-}" ] || command -v vllm >/dev/null ||
  lacking 'vllm is not on the PATH: install it, or name a server that is there in SERVER_URL'

started=()
trap 'for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ -z "${SERVER_URL:-}" ]; then
  # The trainers share the GPU: what vLLM leaves is theirs. Whoever reaches it may load any folder, so nobody else does.
  VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 vllm serve "$model" --host 127.0.0.1 --port 8000 --gpu-memory-utilization 0.4 \
    --enable-lora --max-loras 4 --max-lora-rank 16 &
  started+=($!)
  until curl -sf "$url/models" >/dev/null; do kill -0 "${started[0]}" 2>/dev/null || lacking 'vllm ended'; sleep 2; done
fi

words=()
for section in policy rewardModel; do
  words+=(--set "$section.model=$name" --set "$section.baseUrl=$url" --set "$section.trainer=external")
  words+=(--set "$section.publish.as=lora" --set "$section.publish.keep=2")
done
words+=(--set "adaptation.model=$name" --set "adaptation.baseUrl=$url")
for word in "$@"; do words+=(--set "$word"); done
npm start -- --role head --run "$run" --config config/openai.yaml --set rewardModel.mode=co-trained "${words[@]}" &
head=$!
started+=("$head")

until [ -e "${RL_RUNS:-runs}/$run/connection.json" ]; do kill -0 "$head" 2>/dev/null || { wait "$head"; exit; }; sleep 1; done
trainers=()
for role in policy reward-model; do
  "$python" -m rlanything_trainer --run "$run" --base "$model" --role "$role" &
  trainers+=($!)
done
started+=("${trainers[@]}")
# A run waits long for a trainer that is gone: it is over with the first that fails.
while kill -0 "$head" 2>/dev/null; do
  for pid in "${trainers[@]}"; do
    if ! kill -0 "$pid" 2>/dev/null && ! wait "$pid"; then lacking "a trainer ended, see above; the same command goes on with $run"; fi
  done
  sleep 2
done
wait "$head"
