#!/usr/bin/env bash
# The loop on one machine: a server of the model, the run, and a trainer each of policy and judge, until the run is over.
#   integrations/torch/loop.sh MODEL RUN [KEY=VALUE ...]      further keys of the config
# SERVER_URL names a server of the model that is there (its base URL with /v1); else vLLM is started on port 8000.
# SERVER_MODEL is the name by which it knows the model, MODEL where not given. PYTHON is that of the trainer.
set -euo pipefail
cd "$(dirname "$0")/../.."
model=$1 run=$2
shift 2
url=${SERVER_URL:-http://127.0.0.1:8000/v1}
name=${SERVER_MODEL:-$model}
started=()
trap 'for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done' EXIT

if [ -z "${SERVER_URL:-}" ]; then
  # The trainers share the GPU: what vLLM leaves is theirs.
  VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 vllm serve "$model" --port 8000 --gpu-memory-utilization 0.4 \
    --enable-lora --max-loras 4 --max-lora-rank 16 &
  started+=($!)
  until curl -sf "$url/models" >/dev/null; do kill -0 "${started[0]}"; sleep 2; done
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

until [ -e "${RL_RUNS:-runs}/$run/connection.json" ]; do kill -0 "$head"; sleep 1; done
for role in policy reward-model; do
  "${PYTHON:-python3}" -m rlanything_trainer --run "$run" --base "$model" --role "$role" &
  started+=($!)
done
wait "$head"
