'use strict'
// Stands at the beginning of the built main file: finds the chunks that pack.mjs packed, and keeps their compiled code
// from one command to the next. From Node 22.1 on, Node can do that. For Node 20 we do: it saves a command that asks
// the API once a fourth of its time.
const __fs = require('node:fs')
const __path = require('node:path')
const __chunks = Object.create(null)
const __modules = new Map()

/** What a chunk exports; it runs when it is asked for the first time. */
function __load(file, id) {
  let exports = __modules.get(id)
  if (exports === undefined) {
    if (__chunks[id] === undefined) __read(file)(__load, __chunks, __defer)
    exports = Object.defineProperty({}, '__esModule', { value: true })
    __modules.set(id, exports)
    __chunks[id](exports)
  }
  return exports
}

/** A part of Node that is loaded when something of it is used. */
const __defer = (id) => new Proxy({}, { get: (_, name) => require(id)[name] })

/** A command that reads no more than such files has them compiled before it could look for what was kept. */
const __SMALL_BYTES = 32 * 1024
/** Of those that are kept, the oldest go: each version of gdn and of Node leaves its own. */
const __KEPT_FILES = 200
const __HASH_BYTES = 32

/** Null: to be compiled as Node does it. Undefined: not opened yet. */
let __cache

function __read(file) {
  const filename = __path.join(__dirname, file)
  if (__cache === undefined) {
    if (__fs.statSync(filename).size < __SMALL_BYTES) return require(filename)
    __cache = __openCache()
  }
  return __cache === null ? require(filename) : __cache(filename)
}

function __openCache() {
  const folder = __cacheFolder()
  if (folder === null) return null
  const { enableCompileCache } = module.constructor
  if (enableCompileCache === undefined) return __codeCache(folder)
  // Told where: Node's own choice is a folder of /tmp, which another user may have made first.
  enableCompileCache(folder)
  return null
}

/** Where nobody but the user can write, as what is there runs in the user's name; null where that isn't certain. */
function __cacheFolder() {
  const { env, platform } = process
  const home = env.HOME && __path.join(env.HOME, '.cache')
  const isAbsolute = (path) => path && __path.isAbsolute(path)
  const cache = [platform === 'win32' ? env.LOCALAPPDATA : env.XDG_CACHE_HOME, home].find(isAbsolute)
  if (!cache || env.NODE_DISABLE_COMPILE_CACHE) return null
  const folder = __path.join(cache, 'gdn', 'code')
  try {
    __fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
    const found = __fs.lstatSync(folder)
    if (!found.isDirectory()) return null
    return platform === 'win32' || (found.uid === process.getuid() && (found.mode & 0o022) === 0) ? folder : null
  } catch {
    return null
  }
}

/** Compiles files with the help of what an earlier process left; at its end, this one leaves what was missing. */
function __codeCache(folder) {
  const { Script } = require('node:vm')
  const missing = new Map()
  process.once('exit', () => {
    if (missing.size > 0) __keep(folder, missing)
  })
  return (filename) => {
    const source = __fs.readFileSync(filename, 'utf8')
    // The file's name has the hash of its content.
    const path = __path.join(folder, `${process.version}-${process.arch}-${__path.basename(filename)}`)
    const cachedData = __kept(path)
    const script = new Script(`(function(module,require,__filename){${source}\n})`, { filename, cachedData })
    if (cachedData === undefined || script.cachedDataRejected) missing.set(path, script)
    const module = { exports: undefined }
    script.runInThisContext()(module, require, filename)
    return module.exports
  }
}

const __hash = (data) => require('node:crypto').createHash('sha256').update(data).digest()

/** V8 checks that code is of its own version, not that it is whole: what a full disk or a crash has cut could end us. */
function __kept(path) {
  try {
    const kept = __fs.readFileSync(path)
    const data = kept.subarray(__HASH_BYTES)
    return __hash(data).equals(kept.subarray(0, __HASH_BYTES)) ? data : undefined
  } catch {}
}

/** Whatever goes wrong here, the next process compiles anew. */
function __keep(folder, scripts) {
  try {
    for (const [path, script] of scripts) {
      const data = script.createCachedData()
      const draft = `${path}.${process.pid}`
      __fs.writeFileSync(draft, Buffer.concat([__hash(data), data]), { mode: 0o600 })
      __fs.renameSync(draft, path)
    }
    const files = __fs.readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile())
    if (files.length <= __KEPT_FILES) return
    const dated = files.map(({ name }) => {
      const path = __path.join(folder, name)
      return { path, time: __fs.lstatSync(path).mtimeMs }
    })
    for (const { path } of dated.sort((a, b) => b.time - a.time).slice(__KEPT_FILES)) __fs.rmSync(path)
  } catch {}
}
