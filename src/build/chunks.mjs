// Which modules of the bundle share a file. Rolldown gives every module that a different set of lazy imports reaches a
// file of its own, and to find, open and compile a small one takes longer than to read it.

/**
 * The groups of `output.codeSplitting`. A group takes the modules that it names and all that these import, except for
 * what a group above it took: so no two files import each other.
 *
 * @type {{ name: string, test: RegExp }[]}
 */
const GROUPS = [
  // `gdn --version` and `gdn --help` are answered before a command is known.
  { name: 'main', test: /\/src\/cli\/main\.ts$/ },
  { name: 'help', test: /\/src\/cli\/help\/root-help\.ts$/ },
  // What a press of Tab and a command have in common.
  {
    name: 'core',
    test: /\/src\/(?:core\/(?:secret|errors|file-error|terminal-text|parse-url)|config\/(?:paths|local-backend-id)|state\/(?:glance|known-collections)|cli\/(?:connect\/run-origin|text\/display-width))\.ts$/,
  },
  // What every command needs, and what those that call the API once need most.
  {
    name: 'run',
    test: /\/src\/(?:cli\/(?:process|run|connect\/connect|render\/table|commands\/nft\/show)|client\/(?:known-backends|light-transport)|config\/settings)\.ts$/,
  },
  { name: 'zod', test: /\/node_modules\/zod\// },
  { name: 'getnfts', test: /\/src\/api\/endpoints\/getnfts\.ts$/ },
  { name: 'contract', test: /\/src\/api\/(?!openapi\/)/ },
  // What a backend loads before it is ready, in this order: what other commands load too, the database, the rest of what
  // a worker loads, and HTTP.
  {
    name: 'basics',
    test: /\/src\/(?:core\/(?:private-file|file-identity|within|block-explorer|format-bytes|forward-clock|ids|ipfs-url|bounded-map|share-under-way)|files\/(?:content-type|file-content|failure))\.ts$/,
  },
  { name: 'multiformats', test: /\/node_modules\/multiformats\// },
  { name: 'ipaddr', test: /\/node_modules\/ipaddr\.js\// },
  { name: 'store', test: /\/src\/server\/store\/open-store\.ts$/ },
  { name: 'backend', test: /\/src\/server\/core\.ts$/ },
  { name: 'http', test: /\/src\/server\/main\.ts$/ },
]

/** The groups as Rolldown takes them. */
export const chunkGroups = GROUPS.map(({ name, test }, index) => ({
  name,
  test: (id) => test.test(id.replaceAll('\\', '/')),
  priority: GROUPS.length - index,
}))
