import { EXIT_BY_CODE } from '../../../core/errors.ts'
import { EXIT } from '../../../core/exit-codes.ts'
import { EXIT_MEANINGS } from '../../../core/exit-meanings.ts'
import type { Topic } from '../topic.ts'

const NAMES = Object.keys(EXIT) as (keyof typeof EXIT)[]

/** The words of `error.code` that end with this exit code. */
const wordsOf = (code: number) => Object.entries(EXIT_BY_CODE).flatMap(([word, exit]) => (exit === code ? [word] : []))

export const exitCodes: Topic = {
  about:
    'A script reads the exit code; with --json, the one line on stderr says the rest: error.code, message, hint and details. Codes are never renumbered.',
  examples: [
    ['Go on where a drop stopped', 'gdn batch mint drop.csv || { [ $? = 8 ] && gdn batch mint drop.csv; }'],
    ['What went wrong, for a machine', 'gdn nft show x --local --json 2>&1 | jq -r .error.code'],
  ],
  sections: [
    { title: 'Exit codes', rows: NAMES.map((name) => [String(EXIT[name]), EXIT_MEANINGS[name].long]) },
    {
      title: 'Words of error.code',
      text: 'By the exit code that goes with them.',
      rows: NAMES.map((name): [string, string] => [String(EXIT[name]), wordsOf(EXIT[name]).join(', ')]).filter(
        ([, words]) => words !== '',
      ),
    },
  ],
}
