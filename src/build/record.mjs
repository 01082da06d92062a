// `npm run record`: creates the recorded session and the screenshots of the README with the product on this machine.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from './build.mjs'
import { root } from './paths.mjs'
import { screenshots } from './record/screenshots.mjs'
import { animation } from './record/svg.mjs'
import { Recorder } from './record/terminal.mjs'

const SCREEN = { columns: 100, rows: 35 }
const WALLET = '0x105BA2A3D820926739b9443a81fb7ab5C531e823'
const MEDIA = join(root, '.github', 'media')
const MAX_SVG_BYTES = 150_000
const PROMPT = '\u001b[32m$\u001b[0m '

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
  const gdn = async (shown, ...args) => {
    await recorder.write(PROMPT)
    recorder.hold(500)
    await recorder.type(shown)
    const output = await recorder.run(process.execPath, [join(root, 'bin', 'gdn.js'), ...args], env)
    recorder.hold(1400)
    return output
  }
  try {
    const started = await gdn('gdn local start', 'local', 'start')
    const create = ['collection', 'create', '--name', 'Tidal Hours', '--wallet', WALLET, '--enable-transfer']
    await gdn(`gdn collection create --name "Tidal Hours" --wallet ${WALLET} --enable-transfer`, ...create)
    await recorder.write('\u001b[2J\u001b[H')
    await gdn('gdn batch mint examples/drop.csv', 'batch', 'mint', join(root, 'examples', 'drop.csv'))
    const listed = await new Recorder(400, 60).run(
      process.execPath,
      [join(root, 'bin', 'gdn.js'), 'nft', 'list', '-o', 'ids'],
      env,
    )
    const [id = ''] = listed.trim().split(/\s+/)
    await recorder.write('\u001b[2J\u001b[H')
    await gdn(`gdn nft show ${id}`, 'nft', 'show', id)
    await recorder.write(PROMPT)
    recorder.hold(4000)
    const svg = animation(atHome(recorder.frames, home), {
      ...SCREEN,
      title:
        'A terminal: start a backend, create a collection, mint 24 NFTs from a CSV file, and show one with its picture',
    })
    if (svg.length > MAX_SVG_BYTES) throw new Error(`the recording has ${svg.length} bytes, more than ${MAX_SVG_BYTES}`)
    await writeFile(join(MEDIA, 'session.svg'), svg)
    say(`session.svg: ${recorder.frames.length} frames, ${svg.length} bytes`)
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(started)?.[0]
    for (const { name, bytes } of await screenshots(url, id, MEDIA)) say(`${name}: ${bytes} bytes`)
  } finally {
    await new Recorder(80, 24)
      .run(process.execPath, [join(root, 'bin', 'gdn.js'), 'local', 'stop'], env)
      .catch(() => {})
    await rm(home, { recursive: true, force: true })
  }
}

/** Replaces the temporary home directory with a typical one. */
function atHome(frames, home) {
  const renamed = (run) => ({ ...run, text: run.text.replaceAll(home, '/home/you') })
  return frames.map(({ lines, ms }) => ({ ms, lines: lines.map((runs) => runs.map(renamed)) }))
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

await record().catch((error) => {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
})
