import { itemAt } from '../../../item-at.ts'
import * as tf from '../../../tensorflow/tensorflow.ts'
import type { Draw } from '../sampling.ts'
import { launch, PLACE, type Program, sumOver, unfilled } from './wgsl.ts'

/** How to draw a token from a row of logits on a graphics processor. */
export type Drawing = {
  /** 0 is greedy. */
  readonly temperature: number
  /** Temperature of the reported log-prob. */
  readonly told: number
  readonly topP: number
  /** 0 keeps all. */
  readonly topK: number
  /** The random number, in [0, 1). */
  readonly uniform: number
}

/** Draws the likeliest token. */
export const GREEDY: Drawing = { temperature: 0, told: 1, topP: 1, topK: 0, uniform: 0 }

const LANES = 256

/**
 * Draws a token with its log-prob (result [rows, 2]) from each row of logits [rows, vocab], by the options in `asked` [rows, 5]. Top-k and
 * top-p keep the tokens above some logit, which is found by bisection over the order of all floats. Tokens equal to the last one are kept
 * with it. The draw inverts the running sum in the order of the tokens. Grid [1, rows].
 */
function drawProgram(vocab: number): Program {
  const block = Math.ceil(vocab / LANES)
  return {
    inputs: ['logits', 'asked'],
    lanes: LANES,
    code: `
${sumOver(LANES)}
var<workgroup> options : array<f32, 5>;
var<workgroup> ids : array<i32, ${LANES}>;

/** A number whose order is that of the floats. */
fn orderOf(value : f32) -> u32 {
  let bits = bitcast<u32>(value);
  return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}

/** exp((logit - most) / temperature) of a token that is kept, 0 of any other. */
fn weightOf(logit : f32, most : f32, temperature : f32, least : u32) -> f32 {
  if (orderOf(logit) < least) { return 0.0; }
  return exp((logit - most) / temperature);
}

/** The weights of all tokens together. */
fn massOf(start : i32, lane : i32, most : f32, temperature : f32, least : u32) -> f32 {
  var own = 0.0;
  for (var i = lane; i < ${vocab}; i += ${LANES}) { own += weightOf(logits[start + i], most, temperature, least); }
  return sumOf(lane, own);
}

/** How many tokens are kept. */
fn countOf(start : i32, lane : i32, least : u32) -> f32 {
  var own = 0.0;
  for (var i = lane; i < ${vocab}; i += ${LANES}) { own += select(0.0, 1.0, orderOf(logits[start + i]) >= least); }
  return sumOf(lane, own);
}

fn main() {
  ${PLACE}
  let start = row * ${vocab};
  if (lane < 5) { options[lane] = asked[row * 5 + lane]; }
  let given = workgroupUniformLoad(&options);
  let temperature = given[0];
  let told = given[1];
  let topP = given[2];
  let topK = given[3];

  var best = min(lane, ${vocab - 1});
  for (var i = lane; i < ${vocab}; i += ${LANES}) { if (logits[start + i] > logits[start + best]) { best = i; } }
  ids[lane] = best;
  for (var half = ${LANES / 2}; half > 0; half /= 2) {
    workgroupBarrier();
    if (lane < half) {
      let other = ids[lane + half];
      let lead = logits[start + other] - logits[start + ids[lane]];
      if (lead > 0.0 || (lead == 0.0 && other < ids[lane])) { ids[lane] = other; }
    }
  }
  var token = workgroupUniformLoad(&ids[0]);
  let most = logits[start + token];
  let normalizer = most / told + log(massOf(start, lane, most, told, 0u));

  if (temperature > 0.0) {
    var least = 0u;
    if (topK > 0.0) {
      var above = 0xffffffffu;
      for (var i = 0; i < 32; i++) {
        let middle = least + (above - least) / 2u;
        if (countOf(start, lane, middle) >= topK) { least = middle; } else { above = middle; }
      }
    }
    if (topP < 1.0) {
      let wanted = topP * massOf(start, lane, most, temperature, least);
      var above = 0xffffffffu;
      for (var i = 0; i < 32; i++) {
        let middle = least + (above - least) / 2u;
        if (massOf(start, lane, most, temperature, middle) >= wanted) { least = middle; } else { above = middle; }
      }
    }
    var own = 0.0;
    for (var i = lane * ${block}; i < min((lane + 1) * ${block}, ${vocab}); i++) {
      own += weightOf(logits[start + i], most, temperature, least);
    }
    sums[lane] = own;
    workgroupBarrier();
    if (lane == 0) {
      var total = 0.0;
      for (var i = 0; i < ${LANES}; i++) { total += sums[i]; }
      let drawn = given[4] * total;
      // The block in which the running sum passes the draw, then the token; the last of any weight where rounding leaves none.
      var sum = 0.0;
      var before = 0.0;
      var found = 0;
      for (var i = 0; i < ${LANES}; i++) {
        if (sums[i] > 0.0) {
          found = i;
          before = sum;
          sum += sums[i];
          if (sum > drawn) { break; }
        }
      }
      sum = before;
      for (var i = found * ${block}; i < min((found + 1) * ${block}, ${vocab}); i++) {
        let weight = weightOf(logits[start + i], most, temperature, least);
        if (weight > 0.0) {
          token = i;
          sum += weight;
          if (sum > drawn) { break; }
        }
      }
    }
  }
  if (lane == 0) {
    result[row * 2] = f32(token);
    result[row * 2 + 1] = logits[start + token] / told - normalizer;
  }
}`,
  }
}

/** Draws a token for each row of the logits. Its log-prob is NaN if the logits are not finite. */
export async function drawRows(
  logits: tf.Tensor2D, // [rows, vocab]
  drawings: readonly Drawing[], // [rows]
): Promise<Draw[]> {
  const [rows, vocab] = logits.shape
  const drawn = tf.tidy(() => {
    const asked = tf.tensor2d(
      drawings.map(({ temperature, told, topP, topK, uniform }) => [temperature, told, topP, topK, uniform]),
    )
    const result = unfilled([rows, 2])
    launch(drawProgram(vocab), { logits, asked }, [1, rows], result)
    return result
  })
  const values = await drawn.data()
  drawn.dispose()
  return drawings.map((_, row) => ({
    token: itemAt(values, 2 * row),
    logprob: itemAt(values, 2 * row + 1),
  }))
}
