/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execa } from 'execa'
import { beforeAll, describe, expect, test } from 'vitest'
import { whenFileDone } from '../helpers/clean-up.ts'
import { GDN_BIN } from '../helpers/gdn-bin.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const node = process.env.GDN_TEST_NODE ?? process.execPath

let folder: string

beforeAll(async () => {
  folder = await temporaryFolder('gdn-faults-', whenFileDone)
  await writeFile(join(folder, 'faults.yaml'), 'faults:\n  - { endpoint: getnfts, fault: status, status: 503 }\n')
  await writeFile(join(folder, 'bad.yaml'), 'faults:\n  - { endpoint: getnft, fault: timeout }\n')
})

const gdn = (...args: string[]) =>
  execa(node, [GDN_BIN, ...args], {
    cwd: folder,
    env: { HOME: folder, XDG_DATA_HOME: folder },
    reject: false,
    stdin: 'ignore',
  })

/** Reads an NFT with the environment of `local exec`. Prints the HTTP status and the name of the injected fault. */
const ASK = `fetch(process.env.GDN_BASE_URL + '/api/v1/getnfts', { method: 'POST', body: '{"nft_gdn_ids":["x"]}',
  headers: { 'content-type': 'application/json', 'x-api-key': process.env.GDN_API_KEY } })
  .then((answer) => console.log(answer.status, answer.headers.get('x-gdn-fault')))`

describe('--faults', () => {
  test('is shown in the ready line of serve', async () => {
    const backend = gdn('serve', '--port', '0', '--data-dir', 'a', '--faults', 'faults.yaml', '--json')
    const lines: string[] = []
    for await (const line of backend) {
      lines.push(line)
      backend.kill('SIGTERM')
    }
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ event: 'ready', faults: true })
    expect((await backend).exitCode).toBe(0)
  })

  test('prints a warning in the text mode of serve', async () => {
    const backend = gdn('serve', '--port', '0', '--data-dir', 'b', '--faults', 'faults.yaml')
    backend.stderr?.on('data', (text: Buffer) => {
      if (text.includes('Ctrl-C')) backend.kill('SIGTERM')
    })
    const { stderr, stdout } = await backend
    expect(stdout).toBe('')
    expect(stderr).toMatch(/FAULT INJECTION/)
    expect(stderr).toContain('100 % of getnfts requests return HTTP 503')
  })

  test('is absent from the ready line without the flag', async () => {
    const backend = gdn('serve', '--port', '0', '--data-dir', 'c', '--json')
    const lines: string[] = []
    for await (const line of backend) {
      lines.push(line)
      backend.kill('SIGTERM')
    }
    expect(Object.keys(JSON.parse(lines[0] ?? ''))).toEqual(['event', 'url', 'api_key', 'data_dir', 'pid'])
  })

  test('applies to the command of local exec, and prints a warning', async () => {
    const { stdout, stderr, exitCode } = await gdn('local', 'exec', '--faults', 'faults.yaml', '--', node, '-e', ASK)
    expect([stdout, exitCode]).toEqual(['503 status', 0])
    expect(stderr).toMatch(/FAULT INJECTION/)
  })

  test.each([
    ['bad.yaml', /bad\.yaml:2:17 \(faults\[0\]\.endpoint\).*must be \*/],
    ['missing.yaml', /missing\.yaml.*doesn't exist/],
  ])('makes serve and local exec exit with 2 and the location for %s', async (file, place) => {
    for (const words of [
      ['serve', '--port', '0', '--data-dir', 'd'],
      ['local', 'exec'],
    ]) {
      const { exitCode, stderr, stdout } = await gdn(
        ...words,
        '--faults',
        file,
        ...(words[1] === 'exec' ? ['--', 'true'] : []),
      )
      expect([exitCode, stdout]).toEqual([2, ''])
      expect(stderr).toMatch(place)
    }
  })
})
