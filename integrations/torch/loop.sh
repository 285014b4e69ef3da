#!/usr/bin/env bash
# The loop on one machine: a server of the model, the run, and a trainer each of policy and judge, until the run is over.
#   integrations/torch/loop.sh MODEL RUN [KEY=VALUE ...]      further keys of the config
# SERVER_URL names a server of the model that is there (its base URL with /v1); else vLLM is started on port 8000 of this machine alone.
# SERVER_MODEL is the name by which it knows the model, MODEL where not given. PYTHON is that of the trainer.
# What ends with an error ends all; started again with the same words the run goes on. Ctrl-C ends all in good order.
set -euo pipefail
cd "$(dirname "$0")/../.."
usage='usage: integrations/torch/loop.sh MODEL RUN [KEY=VALUE ...]'
model=${1:?$usage} run=${2:?$usage}
shift 2
url=${SERVER_URL:-http://127.0.0.1:8000/v1}
name=${SERVER_MODEL:-$model}
python=${PYTHON:-python3}
connection=${RL_RUNS:-runs}/$run/connection.json

missing=()
needs() { command -v "$1" >/dev/null || missing+=("$1: $2"); }
[ "${BASH_VERSINFO[0]}${BASH_VERSINFO[1]}" -ge 51 ] || missing+=("bash 5.1: this one is $BASH_VERSION")
needs node 'Node.js 24, https://nodejs.org'
[ -d node_modules ] || missing+=('node_modules: npm ci')
"$python" -c '
from importlib.util import find_spec
import sys
sys.exit(any(find_spec(name) is None for name in ("rlanything_trainer", "torch", "transformers", "peft", "nats", "msgpack")))
' 2>/dev/null || missing+=("rlanything-trainer: pip install ./integrations/torch ($python has not all of it; PYTHON names another)")
if [ -z "${SERVER_URL:-}" ]; then
  needs vllm 'pip install vllm, or name a server that is there: SERVER_URL'
  needs curl "the system's package of that name"
fi
if [ "${#missing[@]}" -gt 0 ]; then
  printf 'loop.sh: missing: %s\n' "${missing[@]}" >&2
  exit 1
fi

declare -A started
# In a group of its own: a Ctrl-C reaches this script alone, and what a program leaves behind is ended with it.
begin() {
  set -m
  "${@:2}" &
  set +m
  started[$!]=$1
}
end() {
  trap '' INT TERM
  kill "${!started[@]}" 2>/dev/null || true
  for pid in "${!started[@]}"; do
    # The run's broker is in the group of its head, which ends it: the group comes after the head.
    for _ in {1..150}; do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.2
    done
    kill -KILL -- "-$pid" 2>/dev/null || true
  done
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
alive() {
  kill -0 "$1" 2>/dev/null && return
  echo "loop.sh: ${started[$1]} ended before it was ready: its message stands above" >&2
  exit 1
}

if [ -z "${SERVER_URL:-}" ]; then
  # The trainers share the GPU: what vLLM leaves is theirs. Whoever reaches it may load adapters: it listens on loopback alone.
  VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 begin 'the server' vllm serve "$model" --host 127.0.0.1 --port 8000 \
    --gpu-memory-utilization 0.4 --enable-lora --max-loras 4 --max-lora-rank 16
  server=$!
  until curl -sf "$url/models" >/dev/null; do
    alive "$server"
    sleep 2
  done
fi

words=()
for section in policy rewardModel; do
  words+=(--set "$section.model=$name" --set "$section.baseUrl=$url" --set "$section.trainer=external")
  words+=(--set "$section.publish.as=lora" --set "$section.publish.keep=2")
done
words+=(--set "adaptation.model=$name" --set "adaptation.baseUrl=$url")
# Adapters of a large model and their optimisers would fill the disk.
words+=(--set run.keepVersions=4)
for word in "$@"; do words+=(--set "$word"); done
# A head that was killed left its connection behind: the new one's is newer than this.
now=$(mktemp)
begin 'the run' node bin/launch.mjs src/main.ts --role head --run "$run" --config config/openai.yaml \
  --set rewardModel.mode=co-trained "${words[@]}"
head=$!
until [ "$connection" -nt "$now" ]; do
  alive "$head"
  sleep 1
done
rm -f "$now"
for role in policy reward-model; do
  begin "the trainer of $role" "$python" -m rlanything_trainer --run "$run" --base "$model" --role "$role"
done

while true; do
  status=0
  wait -n -p ended || status=$?
  [ "$ended" = "$head" ] && exit "$status"
  who=${started[$ended]}
  unset "started[$ended]"
  # A trainer ends by itself where the run is over.
  [ "$status" = 0 ] && [ "$who" != 'the server' ] && continue
  echo "loop.sh: $who ended with status $status: its message stands above. The run ends here, and goes on when this is started again" >&2
  exit 1
done
