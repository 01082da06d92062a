'use strict'
// Stands at the beginning of the built main file: finds the chunks that pack.mjs packed, and keeps their compiled code
// from one command to the next, which saves a command that asks the API once a fourth of its time. Node itself can do
// that from 22.1 on, and saves half as much. Its place for it is a folder of /tmp, which another user may make first.
const __fs = require('node:fs')
const __path = require('node:path')
const __chunks = Object.create(null)
const __modules = new Map()
/** The chunks that ran, by the file that they are in. */
const __ran = new Map()

/** What a chunk exports; it runs when it is asked for the first time. */
function __load(file, id) {
  let exports = __modules.get(id)
  if (exports === undefined) {
    if (__chunks[id] === undefined) __read(file)(__load, __chunks, __defer)
    exports = Object.defineProperty({}, '__esModule', { value: true })
    __modules.set(id, exports)
    if (!__ran.has(file)) __ran.set(file, [])
    __ran.get(file).push(id)
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

/** Null: files are compiled as Node does it. Undefined: not opened yet. */
let __cache

function __read(file) {
  const filename = __path.join(__dirname, file)
  if (__cache === undefined) {
    if (__fs.statSync(filename).size < __SMALL_BYTES) return require(filename)
    const folder = __cacheFolder()
    __cache = folder === null ? null : __codeCache(folder)
  }
  return __cache === null ? require(filename) : __cache(file, filename)
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

/** Compiles files with the help of what earlier processes left; at its end, this one leaves what they lacked. */
function __codeCache(folder) {
  const { Script } = require('node:vm')
  const used = []
  process.once('exit', () => __keep(folder, used))
  return (file, filename) => {
    const source = __fs.readFileSync(filename, 'utf8')
    // The file's name has the hash of its content.
    const path = __path.join(folder, `${process.version}-${process.arch}-${__path.basename(file)}`)
    const kept = __kept(path)
    const script = new Script(`(function(module,require,__filename){${source}\n})`, {
      filename,
      cachedData: kept?.data,
    })
    used.push({ file, path, script, chunks: script.cachedDataRejected ? [] : (kept?.chunks ?? []) })
    const module = { exports: undefined }
    script.runInThisContext()(module, require, filename)
    return module.exports
  }
}

const __HASH_BYTES = 32
const __hash = (data) => require('node:crypto').createHash('sha256').update(data).digest()

/**
 * A hash of all that follows, the chunks whose functions are there, and V8's data. V8 checks that it is of its own
 * version, not that it is whole: what a full disk or a crash has spoilt could end us.
 */
function __kept(path) {
  try {
    const bytes = __fs.readFileSync(path)
    const content = bytes.subarray(__HASH_BYTES)
    if (!__hash(content).equals(bytes.subarray(0, __HASH_BYTES))) return undefined
    const end = content.indexOf(0)
    return { chunks: content.toString('latin1', 0, end).split(' '), data: content.subarray(end + 1) }
  } catch {}
}

/** Functions are compiled when they are called: only those of chunks that ran are there to be kept. */
function __keep(folder, used) {
  try {
    const lacking = used.filter(({ file, chunks }) => (__ran.get(file) ?? []).some((id) => !chunks.includes(id)))
    for (const { file, path, script, chunks } of lacking) {
      const names = [...new Set([...chunks, ...(__ran.get(file) ?? [])])].join(' ')
      const content = Buffer.concat([Buffer.from(`${names}\0`, 'latin1'), script.createCachedData()])
      const draft = `${path}.${process.pid}`
      __fs.writeFileSync(draft, Buffer.concat([__hash(content), content]), { mode: 0o600 })
      __fs.renameSync(draft, path)
    }
    if (lacking.length > 0) __prune(folder)
  } catch {
    // The next process compiles anew.
  }
}

function __prune(folder) {
  const files = __fs.readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile())
  if (files.length <= __KEPT_FILES) return
  const dated = files.map(({ name }) => {
    const path = __path.join(folder, name)
    return { path, time: __fs.lstatSync(path).mtimeMs }
  })
  for (const { path } of dated.sort((a, b) => b.time - a.time).slice(__KEPT_FILES)) __fs.rmSync(path)
}
