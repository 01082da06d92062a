// `npm run record`: creates the recorded session and the screenshots of the README by running gdn on this machine.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { build } from './build.mjs'
import { root } from './paths.mjs'
import { screenshots } from './record/screenshots.mjs'
import { recordSession, SCREEN, TITLE } from './record/session.mjs'
import { animation } from './record/svg.mjs'
import { Recorder } from './record/terminal.mjs'

const MEDIA = join(root, '.github', 'media')
const MAX_SVG_BYTES = 150_000
const MAX_MS = 12_000

async function record() {
  await build()
  await mkdir(MEDIA, { recursive: true })
  const home = await mkdtemp(join(tmpdir(), 'gdn-record-'))
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    TERM: 'xterm-256color',
    COLORTERM: 'truecolor',
    LANG: 'C.UTF-8',
    GDN_NO_UPDATE_NOTICE: '1',
    GDN_PROFILE: 'local',
    GDN_BLOCKCHAIN: 'polygon',
  }
  const recorder = new Recorder(SCREEN.columns, SCREEN.rows)
  const gdn = async (...args) =>
    (await execa(process.execPath, [join(root, 'bin', 'gdn.js'), ...args], { env, extendEnv: false })).stdout
  try {
    await gdn('local', 'start')
    await recordSession(recorder, env, gdn)
    const frames = within(MAX_MS, recorder.frames)
    const svg = animation(frames, { ...SCREEN, title: TITLE })
    if (svg.length > MAX_SVG_BYTES) throw new Error(`the recording has ${svg.length} bytes, more than ${MAX_SVG_BYTES}`)
    await writeFile(join(MEDIA, 'session.svg'), svg)
    say(`session.svg: ${frames.length} frames, ${svg.length} bytes`)
    const [collection] = JSON.parse(await gdn('collection', 'list', '--json'))
    const [id] = (await gdn('nft', 'list', '-c', collection.contract_address, '-o', 'ids')).split('\n')
    const url = await gdn('local', 'status', '-o', 'ids')
    for (const { name, bytes } of await screenshots(url, id, MEDIA)) say(`${name}: ${bytes} bytes`)
  } finally {
    await gdn('local', 'stop').catch(() => {})
    await rm(home, { recursive: true, force: true })
  }
}

/** Shortens the frames in proportion, so that their total duration is at most `maxMs`. */
function within(maxMs, frames) {
  const ms = frames.reduce((sum, frame) => sum + frame.ms, 0)
  return frames.map((frame) => ({ ...frame, ms: frame.ms * Math.min(1, maxMs / ms) }))
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

await record().catch((error) => {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
})
