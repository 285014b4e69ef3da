/** One record of each published format of programming problems. */
import { deflateSync } from 'node:zlib'

export const tests = (count: number) => ({
  test_input: Array.from({ length: count }, (_, i) => `${i}\n`),
  test_output: Array.from({ length: count }, (_, i) => `${i + 1}`),
})

/** As pickle.dumps(text) of protocol 4 writes it. */
function pickled(text: string): Buffer {
  const bytes = Buffer.from(text)
  const head = Buffer.from([0x80, 4, 0x95, 0, 0, 0, 0, 0, 0, 0, 0, 0x58, 0, 0, 0, 0])
  head.writeBigUInt64LE(BigInt(bytes.length + 7), 3)
  head.writeUInt32LE(bytes.length, 12)
  return Buffer.concat([head, bytes, Buffer.from([0x94, 0x2e])])
}

export const RECORDS = {
  reference: {
    id: 'a/1',
    question: 'Add one.',
    test_method: 'stdio',
    test_time_limit: 2,
    ...tests(12),
    reference_solution: 'print(int(input()) + 1)',
  },
  function: {
    id: 'a/2',
    question: 'Add.',
    test_method: 'function',
    fn_name: 'add',
    test_input: ['1\n2', '[1]\n[2]'],
    test_output: ['3', '[1,2]'],
    solutions: ['class Solution:\n    def add(self, a, b):\n        print("debug")\n        return a + b'],
  },
  codeContests: {
    name: '1_A. Add',
    description: 'Add one.',
    public_tests: { input: ['1\n'], output: ['2\n'] },
    private_tests: { input: ['2\n'], output: ['3\n'] },
    generated_tests: { input: ['3\n'], output: ['4\n'] },
    solutions: { language: [2, 3], solution: ['int main() {}', 'print(int(input()) + 1)'] },
    time_limit: { seconds: '2', nanos: 500000000 },
    memory_limit_bytes: 268435456,
    input_file: '',
    output_file: '',
  },
  liveCodeBench: {
    question_id: '7',
    question_content: 'Add one.',
    starter_code: '',
    public_test_cases: JSON.stringify([{ input: '1\n', output: '2', testtype: 'stdin' }]),
    private_test_cases: deflateSync(
      JSON.stringify([{ input: '2\n', output: '3', testtype: 'stdin' }]),
    ).toString('base64'),
  },
  liveCodeBenchPickled: {
    question_id: '8',
    question_content: 'Add one.',
    starter_code: '',
    public_test_cases: JSON.stringify([{ input: '1\n', output: '2', testtype: 'stdin' }]),
    private_test_cases: deflateSync(
      pickled(JSON.stringify([{ input: '2\n', output: '3', testtype: 'stdin' }])),
    ).toString('base64'),
  },
  liveBench: {
    question_id: 'x',
    turns: ['Add.'],
    public_test_cases: [{ input: '1\n2', output: '3', testtype: 'functional' }],
    original_json: { metadata: { func_name: 'add' } },
  },
  mbpp: {
    task_id: 11,
    text: 'Write a function to remove the first occurrence.',
    code: 'def f(s, c):\n    return s.replace(c, "", 1)',
    test_list: [
      'assert f("hello", "l") == "helo"',
      "assert not f('', 'x')",
      'assert f("a,b", ",") == \'ab\', "message == 1"',
    ],
    test_setup_code: '',
  },
  humanEval: {
    task_id: 'HumanEval/x',
    prompt: 'def pair(n):\n    """ n and its square """\n',
    entry_point: 'pair',
    canonical_solution: '    return (n, n * n, {n: 0.5})\n',
    test: "\nMETADATA = {'author': 'x'}\n\ndef check(candidate):\n    # Simple cases\n    assert candidate(2) == (2, 4, {2: .5}), \"no\"\n    assert candidate(3)[0] == 3.0\n    assert abs(candidate(3)[1] - 9) < 1e-6\n    assert True\n",
  },
  humanEvalLoop: {
    task_id: 'HumanEval/y',
    prompt:
      'import math\n\ndef shift(s):\n    """ the helper """\n    return s[::-1]\n\ndef unshift(s):\n    """ undo """\n',
    entry_point: 'unshift',
    canonical_solution: '    return s[::-1]\n',
    test: '\ndef check(candidate):\n    from random import randint\n    for _ in range(20):\n        s = str(randint(0, 999))\n        assert candidate(shift(s)) == s\n    assert math.isclose(float(candidate("5.1")), 1.5)\n',
  },
  evalPlus: {
    task_id: 'HumanEval/z',
    prompt: 'def half(n):\n    """ half of n """\n',
    entry_point: 'half',
    canonical_solution: '    return n / 2\n',
    base_input: [[1], [2]],
    plus_input: [[3.5]],
    atol: 1e-6,
  },
  apps: {
    problem_id: 3,
    question: 'Add one.',
    input_output: JSON.stringify({ inputs: ['1\n'], outputs: ['2\n'] }),
    solutions: JSON.stringify(['print(int(input()) + 1)']),
    starter_code: '',
  },
  taco: {
    id: 't/4',
    question: 'Add.',
    input_output: JSON.stringify({
      fn_name: 'add',
      inputs: [
        [1, 2],
        ['a', 'b'],
      ],
      outputs: [[3], ['ab']],
    }),
    solutions: JSON.stringify([
      'def add(a, b):\n    return a + b\nif __name__ == "__main__":\n    print(input())',
    ]),
    time_limit: '2.0 seconds',
  },
}
