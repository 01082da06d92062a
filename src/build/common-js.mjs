// The bundle's chunks as CommonJS. esbuild splits ES modules only, and on Node 20 the loader of those costs a command
// that prints one line a quarter of what bare node takes, and one that loads twenty chunks a half.
import { transform } from 'esbuild'

const HERE = '__gdnHere'
const WHERE = `const ${HERE}=require("node:url").pathToFileURL(__filename).href;`

const EXPORTS = 'var stdin_exports'

/** Parts of Node that take a millisecond or two to load, and that many modules name and few commands use. */
const DEFERRED = ['node:child_process', 'node:crypto', 'node:fs/promises']

/** What esbuild writes before a module, once for all modules of a file. */
export const HELPERS = split(await transformed('import a from"a";export const b=a', {}))[0]

/**
 * A chunk of ES modules as the body of a function that is given `exports`: `import()` happens when it is reached, and
 * `import.meta.url` is the place of the file.
 *
 * @param text as esbuild wrote it; must not await at its top level
 * @param load the code by which another chunk is asked for
 */
export async function toCommonJs(text, load) {
  const hasPlace = text.includes('import.meta.url')
  const code = await transformed(text, hasPlace ? { define: { 'import.meta.url': HERE } } : {})
  const [helpers, body] = split(code)
  const unknown = namesIn(helpers).filter((name) => !namesIn(HELPERS).includes(name))
  if (unknown.length > 0) throw new Error(`esbuild wrote helpers that were not reckoned with: ${unknown.join(', ')}`)
  const own = body
    .replace(`${EXPORTS}={};`, '')
    .replace(/^__export\(stdin_exports,/, '__export(exports,')
    .replace('module.exports=__toCommonJS(stdin_exports);', '')
    .replace(/0&&\(module\.exports=\{[^{}]*\}\);?\s*$/, '')
  const defer = (found, id) => (DEFERRED.includes(id) ? `__defer("${id}")` : found)
  // The exports of a chunk are a namespace already.
  const linked = own
    .replace(/(?<!__toESM\()\brequire\("(node:[\w/]+)"\)/g, defer)
    .replace(/\(0,import_\w+\.__require\)\("(node:child_process)"\)/g, defer)
    .replace(/__toESM\((require\("\.[^"]+"\))\)/g, '$1')
    .replace(/\brequire\("\.{1,2}\/(?:chunks\/)?([\w.-]+\.js)"\)/g, (_, name) => load(name))
    // They stand at every use.
    .replace(/\bimport_chunk_(?=[A-Z0-9]{8}\b)/g, '$$')
  return (hasPlace ? WHERE : '') + linked
}

async function transformed(text, options) {
  const { code } = await transform(text, {
    format: 'cjs',
    platform: 'node',
    target: 'node20.19',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    supported: { 'dynamic-import': false },
    logLevel: 'error',
    ...options,
  })
  return code
}

function split(code) {
  const at = code.indexOf(EXPORTS)
  return [code.slice(0, at), code.slice(at)]
}

const namesIn = (helpers) => Array.from(helpers.matchAll(/(?<=^|;|,|var )(__\w+)=/g), ([, name]) => name)
