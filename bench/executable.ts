import { execFileSync } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { GDN, withFolder, withNft } from './backend.ts'
import { type Figure, report } from './figures.ts'
import { timeToEnd } from './processes.ts'

const RUNS = 20
const INSTALLS = 3

/** Size and times of the executable, compared with the npm package on the same version of Node.js. */
export function measure(): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const { packExecutable, NODE_VERSION } = await load<typeof import('../src/build/executable.mjs')>('executable')
    const { cachedNode } = await load<typeof import('../src/build/cached-package.mjs')>('cached-package')
    const node = await cachedNode(NODE_VERSION)
    const npm = ['--silent', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
    // Builds without files of earlier builds.
    execFileSync('npm', ['pack', '--silent', '--pack-destination', folder])
    const archive = await packExecutable(folder)
    const packed = join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '')

    const unpacking: number[] = []
    const installing: number[] = []
    const withoutNative: number[] = []
    for (let run = 0; run < INSTALLS; run++) {
      const emptyFolder = (name: string) => {
        const path = join(folder, `${name}-${run}`)
        mkdirSync(path)
        return path
      }
      const [place, prefix, bare] = [emptyFolder('executable'), emptyFolder('package'), emptyFolder('bare')]
      unpacking.push(await timeToEnd('tar', ['-xzf', archive, '-C', place]))
      installing.push(await timeToEnd('npm', ['install', ...npm, '--prefix', prefix, packed]))
      withoutNative.push(await timeToEnd('npm', ['install', ...npm, '--omit=optional', '--prefix', bare, packed]))
    }
    const unpacked = join(folder, 'executable-0')
    const executable = join(unpacked, readdirSync(unpacked)[0] ?? '', 'gdn')
    const modules = join(folder, 'package-0', 'node_modules')
    const onlyGdn = join(folder, 'bare-0', 'node_modules')
    const npmInstall = { what: 'npm install', samples: installing }
    const figures = report([
      bytes('size of the archive', statSync(archive).size, statSync(packed).size),
      bytes('size of the unpacked archive', sizeOf(unpacked), sizeOf(modules)),
      bytes('installed size with --omit=optional', sizeOf(onlyGdn), sizeOf(modules)),
      { what: 'unpack the archive', unit: 'ms', samples: unpacking, against: npmInstall },
      { what: 'npm install --omit=optional', unit: 'ms', samples: withoutNative, against: npmInstall },
      await importing(node, onlyGdn),
    ])

    await withNft(folder, async ({ ids, env }) => {
      for (const args of [['--version'], ['nft', 'show', ...ids], ['local', 'start', '--port', '0']]) {
        const samples: number[] = []
        const bundled: number[] = []
        for (let run = 0; run < RUNS; run++) {
          const time = async (program: string, first: string[]) => {
            const taken = await timeToEnd(program, [...first, ...args], env)
            if (args[0] === 'local') await timeToEnd(program, [...first, 'local', 'stop'], env)
            return taken
          }
          bundled.push(await time(node, [GDN]))
          samples.push(await time(executable, []))
        }
        const what = `gdn ${args.slice(0, 2).join(' ')}`
        const against = { what: `npm package, Node.js ${NODE_VERSION}`, samples: bundled }
        figures.push(...report([{ what, unit: 'ms', samples, against }]))
      }
    })
    return figures
  })
}

/** The time of a program that imports the client. */
async function importing(node: string, modules: string): Promise<Figure> {
  const samples: number[] = []
  const bare: number[] = []
  const client = JSON.stringify(pathToFileURL(join(modules, 'gdn/dist/lib/index.js')))
  for (let run = 0; run < RUNS; run++) {
    bare.push(await timeToEnd(node, ['--input-type=module', '-e', '0']))
    samples.push(await timeToEnd(node, ['--input-type=module', '-e', `import ${client}`]))
  }
  return { what: 'import of the client', unit: 'ms', samples, against: { what: 'Node.js alone', samples: bare } }
}

/** Loads a build script from its file, because it finds the repository by its own path. */
const load = async <Module>(name: string): Promise<Module> =>
  await import(pathToFileURL(join(process.cwd(), 'src/build', `${name}.mjs`)).href)

const bytes = (what: string, ours: number, packaged: number): Figure => ({
  ...{ what, unit: 'bytes', samples: [ours] },
  against: { what: 'npm package', samples: [packaged] },
})

function sizeOf(folder: string): number {
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => lstatSync(join(folder, path)))
  return found.reduce((sum, entry) => sum + (entry.isFile() ? entry.size : 0), 0)
}
