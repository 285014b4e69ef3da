/** Finds the causes of failure that a critique names by its words. */

const CAUSES = ['wrong-object', 'wrong-receptacle', 'search', 'open', 'treat', 'wander'] as const

/**
 * - wrong-object: it took or handled another object than the goal's
 * - wrong-receptacle: it went or put to another place than the goal's
 * - search: it did not find the object, or did not look
 * - open: it left closed what it should have opened
 * - treat: it did not clean, heat or cool, or did not turn the lamp on
 * - wander: it repeated itself or did things without use
 */
export type Cause = (typeof CAUSES)[number]

const WORDS: readonly (readonly [Cause, RegExp])[] = [
  [
    'wrong-object',
    /wrong[- ](?:object|item|thing)|(?:took|picked|take) (?:the|a|another) (?:wrong|other)|instead of the (?:target )?object/i,
  ],
  [
    'wrong-receptacle',
    /wrong[- ](?:receptacle|place|target|location|container|destination)|(?:put|placed|moved) (?:it|the \w+) (?:in|on|to) the wrong/i,
  ],
  [
    'search',
    /not[- ]found|search|explor|(?:never|not|n't) (?:find|found|locate|look|check)|unseen|fail(?:ed|s|ing)? to (?:find|locate|look|check)/i,
  ],
  [
    'open',
    /(?:forgot|fail(?:ed|s|ing)?|never|not|n't|without) (?:to )?open|unopened|(?:left|still|remained|was|is) closed/i,
  ],
  [
    'treat',
    /(?:forgot|fail(?:ed|s|ing)?|never|not|n't|without) (?:to )?(?:heat|clean|cool|wash|warm|chill|turn|use)|not[- ](?:heated|cleaned|cooled|hot|cold|cool|clean|lit)/i,
  ],
  ['wander', /wander|loop|repeat|repetit|aimless|back and forth|useless|no effect|nothing happen|wast/i],
]

/** Number of times that a line of a critique was said, e.g. `7x it has no effect`. */
const TIMES = /^(\d+)x /

/** Returns the causes that a critique names, each once. The most frequent come first: `7x` before a line counts seven times. */
export function causesOf(critique: string): Cause[] {
  const lines = critique.split('\n').map((text) => ({ text, times: Number(TIMES.exec(text)?.[1] ?? 1) }))
  const counted = WORDS.map(([cause, pattern]) => ({
    cause,
    times: lines.reduce(
      (sum, { text, times }) => sum + times * (text.match(new RegExp(pattern, 'gi'))?.length ?? 0),
      0,
    ),
  }))
  return counted
    .filter(({ times }) => times > 0)
    .sort((a, b) => b.times - a.times)
    .map(({ cause }) => cause)
}
