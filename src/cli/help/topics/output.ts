import { OUTPUT_MODES, type OutputMode } from '../../flags/output-modes.ts'
import type { Topic } from '../topic.ts'

const MODES: Readonly<Record<OutputMode, string>> = {
  table: 'For people (the default). Off a terminal: no header, tabs between, nothing shortened',
  json: 'One value: an object for one thing, an array for a list. --json is the same',
  ndjson: 'An object a line, as it comes',
  csv: 'With a header',
  ids: 'The id of each, a line each: what other commands take',
}

export const output: Topic = {
  about:
    'Data goes to stdout and nothing else does; messages, progress and questions go to stderr. JSON has the field names of the API.',
  examples: [
    [
      'The contract of a new collection',
      'gdn collection create --name Dawn -b polygon --wallet @alice --json | jq -r .contract_address',
    ],
    ['Two columns for a spreadsheet', 'gdn nft list -o csv --fields token_id,status'],
    ['Ids, to hand them on', 'gdn nft list -o ids | xargs gdn nft show'],
    ['Failed rows as they come', "gdn batch results drop.csv -o ndjson | jq 'select(.error)'"],
  ],
  sections: [
    { title: 'Modes', text: '-o (--output) chooses one.', rows: OUTPUT_MODES.map((mode) => [mode, MODES[mode]]) },
    {
      title: 'Fields',
      text: '--fields a,b chooses and orders the fields of any mode. A field that does not exist is an error that names the nearest one. There is no filter language: jq is one.',
    },
    {
      title: 'For machines',
      text: `With --json (or -o ndjson) stderr is empty, or on failure one line: {"error": {"code", "message", "hint", "details"}}. What code can be: gdn help exit-codes.
Off a terminal there are no colors, no animation and no questions; what would be asked is an error that names its flag.
A reader that goes away early (head) is no error.`,
    },
    {
      title: 'Colors',
      text: 'On a terminal only, for each stream by itself. NO_COLOR, --no-color and TERM=dumb turn them off, FORCE_COLOR turns them on. The words say all that colors say.',
    },
    {
      title: 'Pictures',
      text: 'On a terminal gdn nft show and gdn batch validate --preview draw pictures: by the protocol of kitty, iTerm2 or sixel terminals, else in blocks of 256 or 16 million colors. Nothing is drawn in a pipe, in CI, with -q, or with TERM=dumb; NO_COLOR turns blocks off, GDN_IMAGES=off all of it.',
    },
    {
      title: 'Text from outside',
      text: 'Names, titles and messages of a server are shown with control characters spelt out (\\u001b), so that they can do nothing to a terminal. JSON has them as they are, escaped by its own rules.',
    },
    { title: 'The command line itself', text: 'gdn help --json prints every command, flag and exit code as JSON.' },
  ],
}
