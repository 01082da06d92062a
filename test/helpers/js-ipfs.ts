import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

const MAIN = fileURLToPath(new URL('js-ipfs-main.mjs', import.meta.url))
/** The last published versions. They have 700 JavaScript packages, so only tests that need them install them. */
const PACKAGES = ['ipfs-core@0.18.1', 'ipfs-http-server@0.15.1']

/** A third-party IPFS node, installed into a temporary folder without its native parts. */
export async function startJsIpfs(): Promise<{ api: string; close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'gdn-js-ipfs-'))
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  const install = ['install', '--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund', '--no-package-lock']
  await execa('npm', [...install, ...PACKAGES], { cwd: folder })
  const child = spawn(process.execPath, [MAIN], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, HOME: folder },
  })
  const exited = once(child, 'exit')
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  const api = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once('line', resolve)
    exited.then(() => reject(new Error('js-ipfs ended before it listened')))
  })
  return {
    api,
    async close() {
      process.off('exit', end)
      end()
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}
