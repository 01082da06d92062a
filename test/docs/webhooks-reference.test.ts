import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'
import { execa } from 'execa'
import { beforeEach, describe, expect, test } from 'vitest'
import { EVENT_TYPES, type EventType } from '../../src/api/webhook-events.ts'
import { sampleData } from '../../src/server/admin/sample-events.ts'
import { createPoster } from '../../src/server/pipeline/webhooks/post.ts'
import { retryMs } from '../../src/server/pipeline/webhooks/schedule.ts'
import { signWebhookBody } from '../../src/server/pipeline/webhooks/signature.ts'
import { whenTestDone } from '../helpers/clean-up.ts'
import { readPage } from '../helpers/pasted-page.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { startReceiver } from '../helpers/webhook-receiver.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const page = await readPage('docs/webhooks-reference.md')
const cellsOf = (line: string) =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())

test('the page lists every kind of event, with the fields of its data', () => {
  const rows = [...page.matchAll(/^\| `(\w+)` \|.*$/gm)].map(([row, kind = '']) => ({ row, kind }))
  expect(rows.flatMap(({ kind }) => [`${kind}.deployed`, `${kind}.failed`])).toEqual(EVENT_TYPES)
  for (const { row, kind } of rows) {
    const listed = [...(cellsOf(row)[2] ?? '').matchAll(/`(\w+)`/g)].map(([, field]) => field)
    expect(listed, kind).toEqual(Object.keys(sampleData(`${kind}.deployed` as EventType, '')))
    expect([...listed, 'error'], kind).toEqual(Object.keys(sampleData(`${kind}.failed` as EventType, '')))
  }
})

test('the page lists the waits of the code', () => {
  const UNITS: Record<string, number> = { s: 1000, min: 60_000, h: 3_600_000 }
  const [, ...waits] = cellsOf(/^\| Wait \|.*$/m.exec(page)?.[0] ?? '')
  const listed = waits.map((wait) => Number.parseInt(wait, 10) * (UNITS[wait.replace(/^\d+ /, '')] ?? Number.NaN))
  const withoutJitter = (attempts: number) => retryMs(attempts, () => 0.5)
  expect(listed).toEqual(listed.map((_, i) => withoutJitter(i + 1)))
  expect(withoutJitter(listed.length + 1)).toBe(listed.at(-1))
  expect(withoutJitter(listed.length - 1)).toBeLessThan(withoutJitter(listed.length))
})

interface Case {
  name: string
  /** Base64, so that each language receives the same bytes. */
  body: string
  signature: string
  secret: string
  isAuthentic: boolean
}

/** How to run the function of the page in each language. It reads cases as JSON, and prints a list of booleans. */
const LANGUAGES = {
  TypeScript: {
    fence: 'ts',
    program: process.execPath,
    file: 'verify.mjs',
    argv: ['main.mjs'],
    main: `import { isFromGdn } from './verify.mjs'
import { readFileSync } from 'node:fs'
const results = []
for (const { body, signature, secret } of JSON.parse(readFileSync('cases.json', 'utf8'))) {
  const headers = { 'Gdn-Signature': signature }
  const request = new Request('https://shop.example/hook', { method: 'POST', headers, body: Buffer.from(body, 'base64') })
  results.push(await isFromGdn(request, secret))
}
console.log(JSON.stringify(results))`,
  },
  Python: {
    fence: 'python',
    program: 'python3',
    file: 'verify.py',
    argv: ['main.py'],
    main: `import base64, json
from verify import is_from_gdn
cases = json.load(open("cases.json"))
print(json.dumps([is_from_gdn(base64.b64decode(c["body"]), c["signature"], c["secret"]) for c in cases]))`,
  },
  Go: {
    fence: 'go',
    program: 'go',
    file: 'webhook/verify.go',
    argv: ['run', '.'],
    main: `package main
import ("encoding/json"; "fmt"; "os"; "hook/webhook")
func main() {
	var cases []struct { Body []byte; Signature, Secret string }
	text, _ := os.ReadFile("cases.json")
	if err := json.Unmarshal(text, &cases); err != nil { panic(err) }
	results := []bool{}
	for _, c := range cases { results = append(results, webhook.IsFromGdn(c.Body, c.Signature, c.Secret)) }
	shown, _ := json.Marshal(results)
	fmt.Println(string(shown))
}`,
  },
  PHP: {
    fence: 'php',
    program: 'php',
    file: 'verify.php',
    argv: ['main.php'],
    main: `<?php
require 'verify.php';
$results = [];
foreach (json_decode(file_get_contents('cases.json'), true) as $c) {
    $results[] = isFromGdn(base64_decode($c['body']), $c['signature'], $c['secret']);
}
echo json_encode($results);`,
  },
} as const

describe('the function of the page accepts exactly the deliveries that the backend signed', () => {
  const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8'
  let cases: Case[]

  // Again for each language, because the times in the signatures are close to the limit of 5 minutes.
  beforeEach(async () => {
    const receiver = await startReceiver()
    whenTestDone(receiver.close)
    const poster = createPoster({ allowPrivate: true, userAgent: 'gdn/test', now: Date.now })
    whenTestDone(poster.close)
    const body = JSON.stringify({ id: 'evt_1', type: 'nft.deployed', data: { title: 'Grüße 🎨' } })
    const { status } = await poster.post({ url: receiver.url, secret: SECRET, eventId: 'evt_1', body })
    expect(status).toBe(200)
    const [delivered] = receiver.received
    const signature = String(delivered?.headers['gdn-signature'])
    const authentic = { body: delivered?.body ?? '', signature, secret: SECRET }
    const signedAgo = (ms: number) => signWebhookBody(SECRET, body, Date.now() - ms)
    const made: [name: string, isAuthentic: boolean, Partial<typeof authentic>][] = [
      ['as delivered', true, {}],
      ['signed 4 minutes ago', true, { signature: signedAgo(240_000) }],
      ['another body', false, { body: body.replace('nft', 'NFT') }],
      ['a longer body', false, { body: `${body}\n` }],
      ['another secret', false, { secret: `${SECRET}A` }],
      ['an empty secret', false, { secret: '', signature: signWebhookBody('', body, Date.now()) }],
      ['signed 6 minutes ago', false, { signature: signedAgo(360_000) }],
      ['signed in 6 minutes', false, { signature: signedAgo(-360_000) }],
      ['another time', false, { signature: signature.replace(/t=\d+/, `t=${Math.floor(Date.now() / 1000) + 9}`) }],
      ['no signature', false, { signature: '' }],
      ['a time that is no number', false, { signature: signature.replace(/t=\d+/, 't=now') }],
      ['a shorter signature', false, { signature: signature.slice(0, -2) }],
      ['more after the signature', false, { signature: `${signature}00` }],
    ]
    cases = made.map(([name, isAuthentic, changes]) => {
      const { body: text, ...rest } = { ...authentic, ...changes }
      return { name, isAuthentic, body: Buffer.from(text).toString('base64'), ...rest }
    })
  })

  for (const [language, { fence, program, argv, file, main }] of Object.entries(LANGUAGES)) {
    test(language, { timeout: 120_000 }, async ({ skip }) => {
      const { code } = await execa(program, [language === 'Go' ? 'version' : '--version'], { reject: false })
      skip(code === 'ENOENT', `${language} is not installed`)
      const [, snippet = ''] = new RegExp(`^\`\`\`${fence}\n(.*?)^\`\`\`$`, 'ms').exec(page) ?? []
      const folder = await temporaryFolder('gdn-verify-')
      await mkdir(join(folder, 'webhook'))
      await mkdir(join(folder, 'node_modules'))
      await symlink(root, join(folder, 'node_modules/gdn'))
      const source = fence === 'ts' ? (await transform(snippet, { loader: 'ts' })).code : snippet
      await writeFile(join(folder, file), source)
      await writeFile(join(folder, argv.at(-1) === '.' ? 'main.go' : argv[0]), main)
      await writeFile(join(folder, 'go.mod'), 'module hook\n')
      await writeFile(join(folder, 'cases.json'), JSON.stringify(cases))
      const env = { HOME: folder, GOCACHE: join(folder, 'cache'), GOTOOLCHAIN: 'local' }
      const { exitCode, stdout, stderr } = await execa(program, argv, { cwd: folder, env, reject: false })
      expect(exitCode, stderr).toBe(0)
      const results = JSON.parse(stdout) as boolean[]
      const named = (accepts: readonly boolean[]) => cases.filter((_, i) => accepts[i]).map(({ name }) => name)
      expect(named(results)).toEqual(named(cases.map(({ isAuthentic }) => isAuthentic)))
      expect(results).toHaveLength(cases.length)
    })
  }
})
