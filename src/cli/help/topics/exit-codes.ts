import { EXIT_BY_CODE } from '../../../core/errors.ts'
import { EXIT } from '../../../core/exit-codes.ts'
import { EXIT_MEANINGS } from '../../../core/exit-meanings.ts'
import type { Topic } from '../topic.ts'

const NAMES = Object.keys(EXIT) as (keyof typeof EXIT)[]

/** The words of `error.code` that end with this exit code. */
const wordsOf = (code: number) => Object.entries(EXIT_BY_CODE).flatMap(([word, exit]) => (exit === code ? [word] : []))

export const exitCodes: Topic = {
  about:
    'Scripts read the exit code. With --json, one line on stderr has the details: error.code, message, hint and details. Exit codes never change their meaning.',
  examples: [
    ['Resume a drop that is still pending', 'gdn batch mint drop.csv || { [ $? = 8 ] && gdn batch mint drop.csv; }'],
    ['Read the error code in a script', 'gdn nft show x --local --json 2>&1 | jq -r .error.code'],
  ],
  sections: [
    { title: 'Exit codes', rows: NAMES.map((name) => [String(EXIT[name]), EXIT_MEANINGS[name].long]) },
    {
      title: 'Values of error.code',
      text: 'Grouped by exit code.',
      rows: NAMES.map((name): [string, string] => [String(EXIT[name]), wordsOf(EXIT[name]).join(', ')]).filter(
        ([, words]) => words !== '',
      ),
    },
  ],
}
