// Fewer and larger chunks. With splitting, esbuild gives every module that a different set of lazy imports reaches a
// chunk of its own: a command then opens some seventy files, most of them of a kilobyte, which takes longer than
// reading them, and more files at once than a limit of 64 allows. So modules that commands share are drawn together:
// each lazy import is made to reach all of them.
import { readFile } from 'node:fs/promises'
import { isAbsolute, join, relative } from 'node:path'
import { root } from './paths.mjs'

/** Larger chunks, and what needs one, stay by themselves: not every command should read them. */
const SMALL_BYTES = 16 * 1024
/** But for these, which nearly every command has: the one of all groups, the one of the second. */
const COMMANDER = 'node_modules/commander/lib/command.js'
const ZOD = 'node_modules/zod/v4/core/util.js'
/** Reached before a command is known; they stay as light as they are. */
const LIGHT = ['main', 'process', 'root-help', 'help', 'colour', 'coloured-paint', 'completion/known-values'].map(
  (name) => `src/cli/${name}.ts`,
)
const NAME = /^gdn:group-(\d)$/

/**
 * @param metafile of a build without this plugin
 * @returns the plugin for the build that counts
 */
export function coalesce({ outputs }) {
  const entries = Object.entries(outputs).flatMap(([path, { entryPoint }]) =>
    entryPoint?.startsWith('src/') && !LIGHT.includes(entryPoint)
      ? [{ entryPoint, reached: closure(outputs, path) }]
      : [],
  )
  const ofCommands = new Set(
    entries.flatMap(({ entryPoint, reached }) => (entryPoint.startsWith('src/cli/') ? [...reached] : [])),
  )
  const chunkOf = (module) => Object.keys(outputs).find((path) => module in outputs[path].inputs)
  const zod = chunkOf(ZOD)
  const common = new Set([zod, chunkOf(COMMANDER)])
  const isSmall = (path) => common.has(path) || outputs[path].bytes < SMALL_BYTES
  // Two groups: what needs zod, which only some commands load, and what doesn't.
  const groups = [false, true].map((withZod) => {
    const chunks = [...ofCommands].filter((path) => {
      const reached = closure(outputs, path)
      const isShared = outputs[path].entryPoint === undefined && !common.has(path)
      return isShared && reached.has(zod) === withZod && [...reached].every(isSmall)
    })
    const modules = chunks.flatMap((path) =>
      Object.keys(outputs[path].inputs).filter((input) => input.startsWith('src/')),
    )
    const joining = withZod ? entries.filter(({ reached }) => reached.has(zod)) : entries
    return { modules: modules.sort(), entries: new Set(joining.map(({ entryPoint }) => join(root, entryPoint))) }
  })
  const groupsOf = (path) => groups.flatMap(({ entries }, index) => (entries.has(path) ? [index] : []))
  const isMember = (path) => groups.some(({ modules }) => modules.includes(relative(root, path)))
  return {
    name: 'coalesce',
    setup(build) {
      build.onResolve({ filter: NAME }, ({ path }) => ({ path, namespace: 'group', sideEffects: true }))
      build.onLoad({ filter: /./, namespace: 'group' }, ({ path }) => ({
        contents: groups[Number(NAME.exec(path)?.[1])].modules.map((module) => `import './${module}'`).join('\n'),
        resolveDir: root,
      }))
      build.onLoad({ filter: /\.ts$/, namespace: 'file' }, async ({ path }) => {
        const joined = groupsOf(path)
        if (joined.length === 0 || isMember(path)) return undefined
        return { contents: `${await readFile(path, 'utf8')}\n${importsOf(joined)}\n`, loader: 'ts' }
      })
      // A module that a group has can't import it: it would be needed before it was made. A stub does it in its place.
      build.onResolve({ filter: /^\.+\// }, ({ kind, path, importer, resolveDir }) => {
        const found = kind === 'dynamic-import' && isAbsolute(importer) ? join(resolveDir, path) : ''
        return isMember(found) && groupsOf(found).length > 0 ? { path: found, namespace: 'lazy' } : undefined
      })
      build.onLoad({ filter: /./, namespace: 'lazy' }, ({ path }) => ({
        contents: `${importsOf(groupsOf(path))}\nexport * from './${relative(root, path)}'\n`,
        resolveDir: root,
      }))
    },
  }
}

const importsOf = (groups) => groups.map((index) => `import 'gdn:group-${index}'`).join('\n')

/** A chunk and all that is loaded with it. */
function closure(outputs, path, reached = new Set()) {
  if (reached.has(path)) return reached
  reached.add(path)
  for (const { kind, external, path: imported } of outputs[path].imports) {
    if (kind === 'import-statement' && !external) closure(outputs, imported, reached)
  }
  return reached
}
