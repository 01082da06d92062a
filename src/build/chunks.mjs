// Assigns the modules of the bundle to files. By default, Rolldown creates a file for each distinct set of lazy imports
// that reach a module. For a small file, finding, opening and compiling it takes longer than reading it.

/**
 * The groups of `output.codeSplitting`. A group contains the modules that match it and everything that they import,
 * except modules of earlier groups. Therefore no two files import each other.
 *
 * @type {{ name: string, test: RegExp }[]}
 */
const GROUPS = [
  // `gdn --version` and `gdn --help` run before the command is resolved.
  { name: 'main', test: /\/src\/cli\/main\.ts$/ },
  { name: 'help', test: /\/src\/cli\/help\/root-help\.ts$/ },
  // Shared by completions and commands.
  {
    name: 'core',
    test: /\/src\/(?:core\/(?:secret|errors|file-error|terminal-text|parse-url)|config\/(?:paths|local-backend-id)|state\/(?:glance|known-collections)|cli\/text\/display-width|operations\/run-origin)\.ts$/,
  },
  // Needed by every command, and by most commands that call the API once.
  {
    name: 'run',
    test: /\/src\/(?:cli\/(?:process|run|connect\/connect|render\/table|commands\/nft\/show)|client\/(?:known-backends|light-transport)|config\/settings|sqlite\/shared-database)\.ts$/,
  },
  // With its part of zod.
  { name: 'getnfts', test: /\/src\/api\/endpoints\/getnfts\.ts$/ },
  { name: 'zod', test: /\/node_modules\/zod\// },
  { name: 'contract', test: /\/src\/api\/(?!openapi\/)/ },
  // Of every command that may spend.
  { name: 'cost', test: /\/src\/cli\/cost\/(?:confirm-spending|limit|run-limit)\.ts$/ },
  // Loaded by a backend before it is ready, in this order: code shared with other commands, the database, the rest of a
  // worker's code, and HTTP.
  {
    name: 'basics',
    test: /\/src\/(?:core\/(?:private-file|file-identity|state-of|within|block-explorer|format-bytes|forward-clock|ids|ipfs-url|bounded-map|share-in-flight)|files\/(?:content-type|file-content|failure)|keystore\/solana-key)\.ts$/,
  },
  { name: 'multiformats', test: /\/node_modules\/multiformats\// },
  { name: 'ipaddr', test: /\/node_modules\/ipaddr\.js\// },
  { name: 'store', test: /\/src\/server\/store\/open-store\.ts$/ },
  { name: 'backend', test: /\/src\/server\/core\.ts$/ },
  { name: 'http', test: /\/src\/server\/main\.ts$/ },
]

/** The groups in Rolldown's format. */
export const chunkGroups = GROUPS.map(({ name, test }, index) => ({
  name,
  test: (id) => test.test(id.replaceAll('\\', '/')),
  priority: GROUPS.length - index,
}))
