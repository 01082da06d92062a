const KEYS = 'handles private keys'
const BACKEND = 'administers a backend'
const MACHINE = 'starts or stops programs on this machine'
const SETUP = 'changes the server, key or profile, which the operator chooses'

/** The reason why a command isn't a tool, as the end of a sentence. All other commands are in a toolset. */
export const NOT_TOOLS: Readonly<Record<string, string>> = {
  mcp: 'serves the tools',
  api: 'sends requests that are neither planned nor counted',
  completion: 'is for shells',
  open: 'opens a browser',
  init: SETUP,
  'auth login': SETUP,
  'auth logout': SETUP,
  'config set': SETUP,
  'config unset': SETUP,
  'wallet import': KEYS,
  'wallet export': KEYS,
  'wallet url': 'prints a URL that returns a private key',
  'batch rehearse': MACHINE,
  'local start': MACHINE,
  'local stop': MACHINE,
  'local exec': MACHINE,
  'local reset': 'deletes the data of the local backend',
  'local listen': 'runs until it is stopped',
  'local logs': 'prints the log of the local backend',
  serve: 'runs until it is stopped',
  worker: 'runs until it is stopped',
  'chain setup': BACKEND,
  'chain verify': BACKEND,
  'tx bump': BACKEND,
  'tx cancel': BACKEND,
  'tx release': BACKEND,
  'key create': 'prints an API key',
  'key revoke': BACKEND,
  'webhook add': 'prints a signing secret',
  'webhook update': BACKEND,
  'webhook rm': BACKEND,
  'webhook test': BACKEND,
  'webhook trigger': BACKEND,
  'webhook replay': BACKEND,
  'db export': BACKEND,
  'db import': BACKEND,
  'db migrate': BACKEND,
}

const OPERATOR = 'is chosen by the operator, when gdn mcp starts'
const OUTPUT = 'is for people, or set by gdn mcp'
const TUNING = 'tunes requests, and the default is suitable'
const PLANNED = 'is replaced by dry_run and plan_id'

/** The reason why a flag isn't a parameter of tools, as the end of a sentence. */
export const LEFT_OUT_FLAGS: Readonly<Record<string, string>> = {
  '--local': OPERATOR,
  '--base-url': OPERATOR,
  '--profile': OPERATOR,
  '--state-dir': OPERATOR,
  '--data-dir': OPERATOR,
  '--database-url': OPERATOR,
  '--config': OPERATOR,
  '--rpc-url': OPERATOR,
  '--rpc-url-file': OPERATOR,
  '--gateway': OPERATOR,
  '--password-file': OPERATOR,
  '--weak-password': OPERATOR,
  '--json': OUTPUT,
  '--output': OUTPUT,
  '--quiet': OUTPUT,
  '--no-color': OUTPUT,
  '--no-input': OUTPUT,
  '--debug': OUTPUT,
  '--help': OUTPUT,
  '--no-image': OUTPUT,
  '--preview': OUTPUT,
  '--for-spreadsheet': OUTPUT,
  '--detailed-exit-code': OUTPUT,
  '--yes': PLANNED,
  '--dry-run': PLANNED,
  '--operation': PLANNED,
  '--out': PLANNED,
  '--chunk-size': TUNING,
  '--upload-concurrency': TUNING,
  '--listing-wait': TUNING,
  '--again': 'sends a request a second time, as a new plan does',
  '--no-lookup': 'skips the check that prevents minting twice',
  '--show-private-key': 'prints a private key',
  '--open': 'opens a browser',
  '--force': 'overwrites a file',
}
