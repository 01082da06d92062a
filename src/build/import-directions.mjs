// Checks the imports between the folders of `src` and the location of SQL, in `npm run check` and `npm test`. Biome
// checks for import cycles between files (noImportCycles).
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path/posix'

const CLI = [
  ...['core', 'api', 'keystore', 'object-store', 'files', 'config', 'client', 'manifest', 'verify', 'wallet'],
  ...[
    'archive',
    'art',
    'batch',
    'ens',
    'holders',
    'ipfs',
    'marketplace',
    'operations',
    'plan',
    'reveal',
    'state',
    'sqlite',
  ],
]

/** The folders that each folder of `src` may import, lowest first. Type imports and lazy imports count. */
export const MAY_IMPORT = {
  core: [],
  api: ['core'],
  sqlite: ['core'],
  keystore: ['core'],
  'object-store': ['core'],
  files: ['core', 'api'],
  config: ['core', 'api'],
  ipfs: ['core', 'files'],
  client: ['core', 'api', 'files', 'object-store', 'sqlite'],
  manifest: ['core', 'api', 'files'],
  art: ['core', 'api', 'files', 'manifest', 'sqlite'],
  marketplace: ['core', 'api', 'client', 'files', 'manifest'],
  verify: ['core', 'api', 'client'],
  ens: ['core', 'api', 'client', 'files'],
  holders: ['core', 'api', 'client', 'sqlite', 'verify'],
  archive: ['core', 'api', 'client', 'files', 'holders', 'ipfs', 'sqlite', 'verify'],
  state: ['core', 'api', 'sqlite'],
  wallet: ['core', 'api', 'client', 'keystore', 'manifest', 'state'],
  operations: ['core', 'api', 'client', 'sqlite', 'state'],
  batch: ['core', 'api', 'client', 'manifest', 'operations', 'sqlite', 'state'],
  plan: ['core', 'api', 'batch', 'client', 'files', 'manifest', 'operations', 'sqlite', 'state'],
  reveal: ['core', 'api', 'batch', 'client', 'files', 'manifest', 'operations', 'plan', 'sqlite', 'state', 'verify'],
  server: ['core', 'api', 'keystore', 'object-store', 'files', 'ipfs', 'sqlite'],
  // The explorer runs in browsers.
  explorer: ['core', 'server/explorer/types.ts'],
  cli: CLI,
  // Programs import this library.
  lib: ['core', 'api', 'batch', 'client', 'config', 'files', 'manifest', 'operations', 'sqlite', 'state'],
  build: [],
}

/**
 * The only files and folders that may load `server`. They work on a backend's data, check its requirements or settings,
 * estimate gas, send transactions of owners, or check IPFS content.
 */
const LOADS_SERVER = [
  ...['chain', 'db', 'key', 'local', 'serve', 'tx', 'webhook', 'worker'].map((noun) => `cli/commands/${noun}`),
  ...[
    'cli/batch/run-rehearsal.ts',
    'cli/commands/doctor/backend.ts',
    'cli/commands/doctor/native.ts',
    'cli/commands/collection/restore.ts',
    'cli/commands/collection/set/',
    'cli/connect/data-dir.ts',
    'cli/connect/open-network.ts',
    'cli/cost',
    'cli/schema/backend-schema.ts',
  ],
]

/** The layers of `src/server`, lowest first. A layer imports only from those below it. */
export const SERVER_LAYERS = [
  ['warnings-log.ts'],
  ['close-all.ts', 'log.ts', 'settings', 'store'],
  ['data-dir', 'state', 'storage'],
  ['chain', 'faults', 'open-database.ts'],
  ['checkup', 'database', 'pipeline', 'readiness.ts'],
  ['metrics', 'admin', 'services', 'setup'],
  ['explorer', 'open-networks.ts', 'open-pipeline.ts'],
  ['http'],
  ['core.ts'],
  ['main.ts', 'worker.ts'],
  ['fork'],
]

/**
 * Files that are independent of the kind of blockchain. Steps of the pipeline access a blockchain through its driver,
 * and services use its facts. The exceptions choose between kinds, or serve the JSON-RPC of an embedded chain.
 */
const KNOWS_NO_KIND = /^server\/(?:pipeline\/(?:webhooks\/)?[^/]+$|(?:services|explorer|http|admin|metrics)\/)/
const KNOWS_KINDS = ['server/pipeline/load-driver.ts', 'server/pipeline/chain-facts.ts', 'server/http/rpc.ts']
const isOfKind = (path) => /^server\/(?:chain|pipeline)\/(?:evm|solana)\//.test(path)

/** The only places that may run SQL: `state` on the client database, and the others on their own databases. */
const RUNS_SQL = [
  ...['state/', 'server/', 'sqlite/', 'build/'],
  // The database of the rate limits that the processes of a user share.
  'client/pace/shared-pace.ts',
  // The database from which an interrupted read of holders resumes.
  'holders/',
  // The database of an unfinished archive.
  'archive/',
]
/**
 * Matches a method call on an `Sql` object, which is always named `sql`, or text that begins like an SQL statement.
 */
const STATEMENT =
  /\bsql\s*\.\s*(?:all|get|run|script)\b|['"`]\s*(?:SELECT|INSERT|REPLACE|UPDATE|DELETE|WITH|CREATE|DROP|PRAGMA)\s/

const STATIC_IMPORT = /^(?:import|export)\b(?! type\b)(?:[^;'"(]*? from)? '(\.[^']+)'/gm
const LAZY_IMPORT = /(?<!typeof )\bimport\('(\.[^']+)'\)/g
/** Matches any import of values or types, static or lazy. The formatter makes all quotes single. */
const ANY_IMPORT = /\b(?:from |import |import\()'(\.[^']+)'/g

/**
 * Finds imports that violate the tables, folders that no table lists, imports that form a cycle of files and folders,
 * lazy imports of modules that are loaded anyway, and SQL outside `src/state`. Returns a sentence for each problem.
 *
 * @param {string} src the folder `src`
 * @returns {Promise<string[]>}
 */
export async function findWrongImports(src) {
  const paths = (await readdir(src, { recursive: true })).map((path) => path.replaceAll('\\', '/'))
  const files = new Set(paths.filter((path) => !path.includes('/node_modules/')))
  const found = new Set()
  const withinFolders = []
  const loads = new Map()
  const loadsLater = []
  for (const from of files) {
    if (!/\.(?:ts|tsx|mjs)$/.test(from)) continue
    const unnamed = unnamedFolder(from)
    if (unnamed !== null) found.add(`src/${unnamed} is not in a table of src/build/import-directions.mjs`)
    const text = await readFile(join(src, from), 'utf8')
    if (STATEMENT.test(text) && !RUNS_SQL.some((path) => from.startsWith(path))) {
      found.add(`src/${from} has SQL: only src/state runs statements on the client database`)
    }
    const pathOf = (specifier) => join(dirname(from), specifier)
    loads.set(from, new Set([...text.matchAll(STATIC_IMPORT)].map(([, specifier]) => pathOf(specifier))))
    loadsLater.push(...[...text.matchAll(LAZY_IMPORT)].map(([, specifier]) => [from, pathOf(specifier)]))
    for (const [, specifier] of text.matchAll(ANY_IMPORT)) {
      const to = pathOf(specifier)
      if (!files.has(to)) continue
      const reason = reasonAgainst(from, to)
      if (reason !== null) found.add(`src/${from} imports src/${to}: ${reason}`)
      const folder = folderOf(from)
      if (folder === folderOf(to)) withinFolders.push([from, to])
    }
  }
  for (const [from, to] of loadsLater) {
    if (allReached(loads, from).has(to))
      found.add(`src/${from} imports src/${to} lazily, but a static import also loads it`)
  }
  return [...found, ...findCircles(withinFolders)].sort()
}

/** Returns the imports that form a cycle of files and folders, even if the files alone form none. */
function findCircles(imports) {
  const arrows = imports.map(([from, to]) => {
    const [start, end] = [from.split('/'), to.split('/')]
    const depth = start.findIndex((part, at) => part !== end[at])
    return { from, to, start: start.slice(0, depth + 1).join('/'), end: end.slice(0, depth + 1).join('/') }
  })
  const ends = new Map()
  for (const { start, end } of arrows) ends.set(start, (ends.get(start) ?? new Set()).add(end))
  const reached = new Map([...ends.keys()].map((start) => [start, allReached(ends, start)]))
  return arrows
    .filter(({ start, end }) => reached.get(end)?.has(start))
    .map(({ from, to, start, end }) => `src/${from} imports src/${to}: src/${end} leads back to src/${start}`)
}

function allReached(ends, start) {
  const found = new Set()
  const open = [start]
  for (let from = open.pop(); from !== undefined; from = open.pop()) {
    for (const end of ends.get(from) ?? []) {
      if (found.has(end)) continue
      found.add(end)
      open.push(end)
    }
  }
  return found
}

const folderOf = (path) => path.split('/', 1)[0]
const subfolderOf = (path) => path.split('/')[1]
const layerOf = (path) => SERVER_LAYERS.findIndex((names) => names.includes(subfolderOf(path)))

function unnamedFolder(path) {
  if (!(folderOf(path) in MAY_IMPORT)) return folderOf(path)
  return folderOf(path) === 'server' && layerOf(path) < 0 ? `server/${subfolderOf(path)}` : null
}

function reasonAgainst(from, to) {
  const [folder, target] = [folderOf(from), folderOf(to)]
  if (KNOWS_NO_KIND.test(from) && !KNOWS_KINDS.includes(from) && isOfKind(to)) {
    return `only ${KNOWS_KINDS.join(', ')} may import modules of one kind of blockchain`
  }
  if (folder === target) {
    if (folder !== 'server' || subfolderOf(from) === subfolderOf(to) || layerOf(from) > layerOf(to)) return null
    return `server/${subfolderOf(to)} is not in a layer below server/${subfolderOf(from)}`
  }
  const allowed = MAY_IMPORT[folder] ?? []
  if (allowed.includes(target) || allowed.includes(to)) return null
  if (folder === 'cli' && target === 'server' && LOADS_SERVER.some((path) => from.startsWith(path))) return null
  return `${folder} may import ${allowed.join(', ') || 'no other folder'}`
}
