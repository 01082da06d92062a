import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './paths.mjs'

// Assigns the modules of the bundle to files. By default, Rolldown creates a file for each distinct set of lazy imports
// that reach a module. For a small file, finding, opening and compiling it takes longer than reading it.

/** Returns the paths of the files in a folder, without those of its subfolders. */
function filesOf(folder) {
  const entries = readdirSync(join(root, folder), { withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ name }) => `${folder}/${name}`)
}

/**
 * The groups, in order. A group contains its files and folders, and everything that they import, except modules of
 * earlier groups. Therefore no two files of the bundle import each other.
 *
 * @type {{ name: string, paths: string[] }[]}
 */
const GROUPS = [
  // `gdn --version` and `gdn --help` run before the command is resolved.
  { name: 'main', paths: ['src/cli/main.ts'] },
  { name: 'help', paths: ['src/cli/help/root-help.ts'] },
  // Shared by completions and commands.
  {
    name: 'core',
    paths: [
      ...['secret', 'errors', 'file-error', 'terminal-text', 'parse-url'].map((name) => `src/core/${name}.ts`),
      'src/config/paths.ts',
      'src/config/local-backend-id.ts',
      'src/state/glance.ts',
      'src/state/known-collections.ts',
      'src/cli/text/display-width.ts',
      'src/operations/run-origin.ts',
    ],
  },
  // Needed by every command, and by most commands that call the API once.
  {
    name: 'run',
    paths: [
      'src/cli/process.ts',
      'src/cli/run.ts',
      'src/cli/connect/connect.ts',
      'src/cli/render/table.ts',
      'src/cli/commands/nft/show.ts',
      'src/client/known-backends.ts',
      'src/client/light-transport.ts',
      'src/config/settings.ts',
      'src/sqlite/shared-database.ts',
    ],
  },
  // Includes the part of zod that this endpoint uses.
  { name: 'getnfts', paths: ['src/api/endpoints/getnfts.ts'] },
  { name: 'zod', paths: ['node_modules/zod'] },
  {
    name: 'contract',
    paths: [
      ...filesOf('src/api').filter((path) => !['src/api/endpoints.ts', 'src/api/beacon.ts'].includes(path)),
      ...['createcollection', 'createnft', 'getcollections', 'getisgdnnft', 'getnfthistory'].map(
        (name) => `src/api/endpoints/${name}.ts`,
      ),
    ],
  },
  // Needed only to draw the rows of shuffled drops. Includes the part of @noble/curves that this code uses.
  { name: 'beacon', paths: ['src/api/beacon.ts'] },
  // Endpoints that few commands use. They are separate, because creating their schemas takes 10 ms.
  { name: 'endpoints', paths: ['src/api'] },
  // Shared by backends and by commands that spend or read manifests. Backends don't load the other code of these
  // commands.
  {
    name: 'basics',
    paths: [
      ...[
        ...[
          'private-file',
          'file-identity',
          'mask-amounts',
          'with-timeout',
          'block-explorer',
          'format-bytes',
          'forward-clock',
        ],
        ...['ids', 'ipfs-url', 'bounded-map', 'json-scan', 'share-in-flight', 'turns'],
      ].map((name) => `src/core/${name}.ts`),
      ...['content-type', 'file-content', 'failure'].map((name) => `src/files/${name}.ts`),
      'src/keystore/solana-key.ts',
    ],
  },
  // Code of every command that may spend.
  {
    name: 'cost',
    paths: [
      ...['confirm-spending', 'limit', 'max-fee', 'paid', 'run-limit', 'spent'].map(
        (name) => `src/cli/cost/${name}.ts`,
      ),
      'src/core/nothing-sent.ts',
      'src/reveal/provenance-folder.ts',
      // Nearly all commands that accept addresses may spend.
      'src/cli/flags/ens.ts',
      'src/cli/request/ens-names.ts',
    ],
  },
  // Code of every command that reads a manifest or a list of receivers.
  { name: 'csv', paths: ['csv', 'decode', 'hash-table', 'source'].map((name) => `src/manifest/${name}.ts`) },
  // Code of every command that reads the rows of runs.
  {
    name: 'rows',
    paths: [
      ...[
        'src/batch/rows',
        'src/cli/batch/receivers/receiver-list.ts',
        'src/reveal/drop-state.ts',
        'src/cli/batch/reveal/next-reveal.ts',
      ],
      // Flags of the commands that process rows.
      ...['src/marketplace/rules.ts', 'src/cli/flags/opensea.ts', 'src/cli/commands/batch/marketplace-check.ts'],
    ],
  },
  // A backend loads these groups before it is ready, after `basics` and in this order: the database, the rest of a
  // worker's code, and HTTP.
  { name: 'multiformats', paths: ['node_modules/multiformats'] },
  { name: 'ipaddr', paths: ['node_modules/ipaddr.js'] },
  { name: 'store', paths: ['src/server/store/open-store.ts'] },
  { name: 'backend', paths: ['src/server/core.ts'] },
  { name: 'http', paths: ['src/server/main.ts'] },
]

/** Code that is loaded only to generate the OpenAPI document. */
const APART = '/src/api/openapi/'

/** The value of Rolldown's `output.codeSplitting.groups`. */
export const chunkGroups = GROUPS.map(({ name, paths }, index) => {
  const missing = paths.find((path) => !existsSync(join(root, path)))
  if (missing !== undefined) throw new Error(`src/build/chunks.mjs: ${missing} doesn't exist`)
  const holds = (id) => paths.some((path) => id.endsWith(`/${path}`) || id.includes(`/${path}/`))
  return {
    name,
    test(id) {
      const file = id.replaceAll('\\', '/')
      return holds(file) && !file.includes(APART)
    },
    priority: GROUPS.length - index,
  }
})
