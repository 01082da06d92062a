/** @module-tag slow */
import { mkdir, readdir, readFile, realpath, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { PAGE_SCRIPT } from '../../../src/cli/sheet/page.ts'
import { SheetFile } from '../../../src/cli/sheet/sheet-file.ts'
import { png, QUARTERS } from '../../helpers/images.ts'
import { fakeApi, OWNER } from '../fake-api.ts'
import { type CliOptions, cli, errorOf } from '../harness.ts'
import { folder, service, TARGET } from './drop.ts'

const HEADER = 'title,description,image,receiver,id,attr:mood,extra:artist'
const row = (title: string, image = 'a.png', receiver = OWNER) => `"${title}",x,"${image}",${receiver},,calm,E`

async function drop(lines: readonly string[], name = 'drop.csv') {
  const workFolder = await folder({ [name]: [HEADER, ...lines, ''].join('\n') })
  await writeFile(workFolder.path('a.png'), png(QUARTERS))
  const run = (...flags: string[]) => preview(workFolder, [workFolder.path(name), ...flags])
  return { ...workFolder, run, page: () => readFile(workFolder.path('drop-preview.html'), 'utf8') }
}

const preview = (workFolder: { options: CliOptions }, words: readonly string[], more: CliOptions = {}) =>
  cli(['batch', 'preview', ...words, '-b', 'polygon'], { ...workFolder.options, ...more })

const cards = (page: string) => page.match(/<article [\s\S]*?<\/article>/g) ?? []

test('the preview names rows that are identical to an earlier one, which batch mint stops at', async () => {
  const rows = `title,description,receiver\nDawn,same,${OWNER}\nDusk,first,${OWNER}\nDawn,same,${OWNER}\n`
  const workFolder = await folder({ 'drop.csv': rows })
  const shown = async (...flags: string[]) =>
    await preview(workFolder, [workFolder.path('drop.csv'), '--force', ...flags])
  expect((await shown()).stderr).toMatch(/^warning: .*drop.csv:4: is identical to line 2$/m)
  expect((await preview(workFolder, [workFolder.path('drop.csv'), '--force'], { tty: true })).stdout).not.toMatch(
    /mapped/i,
  )
  expect(await readFile(workFolder.path('drop-preview.html'), 'utf8')).toContain('identical to an earlier row')
  expect((await shown('--json')).stderr).toBe('')
  await writeFile(workFolder.path('drop.csv'), rows.replace('Dusk', 'Noon').replace(/Dawn(?=,same.*\n$)/, 'Dusk'))
  expect((await shown()).stderr).not.toContain('equals')
  expect(await readFile(workFolder.path('drop-preview.html'), 'utf8')).not.toContain('identical to an earlier row')
})

describe('the preview of a manifest that has a run', () => {
  const CONTENT = `title,description,receiver\nDawn,same,${OWNER}\nDusk,first,${OWNER}\nDawn,same,${OWNER}\n`

  async function minted(refuse: (title: string) => boolean = () => false) {
    const workFolder = await folder({ 'drop.csv': CONTENT })
    const api = await fakeApi(service(refuse))
    const at = [...TARGET, '--base-url', api.url]
    await cli(
      [
        'batch',
        'mint',
        workFolder.path('drop.csv'),
        ...at,
        '--chunk-size',
        '1',
        '--rate',
        '1000',
        '--allow-duplicates',
      ],
      workFolder.options,
    )
    const shown = async (...flags: string[]) => {
      const result = await preview(workFolder, [workFolder.path('drop.csv'), '--force', ...flags])
      return { ...result, html: await readFile(workFolder.path('drop-preview.html'), 'utf8') }
    }
    return { ...workFolder, at, shown }
  }

  test('shows in its header and on each card that the rows are minted, with their tokens', async () => {
    const { shown } = await minted()
    const { html, stderr } = await shown()
    expect(html).toContain('Preview of a drop: every row is already minted')
    expect(html).toMatch(/<dt>Run<\/dt><dd><code>drop-\w+<\/code>/)
    expect(html.match(/<span class="badge good">deployed<\/span>/g)).toHaveLength(3)
    const tokens = cards(html).map((card) => /<span>token (\d)<\/span>/.exec(card)?.[1])
    expect(tokens.sort()).toEqual(['1', '2', '3'])
    expect(stderr).toMatch(/The run drop-\w+ has minted 3 of 3 rows\./)
    expect(JSON.parse((await shown('--json')).stdout)).toMatchObject({
      run: expect.stringMatching(/^drop-/),
      minted: 3,
    })
  })

  test('notes that the manifest also has runs in other collections', async () => {
    const { shown, at, path, options } = await minted()
    const note = 'The manifest also has runs in other collections.'
    expect((await shown()).stderr).not.toContain(note)
    const again = ['batch', 'mint', path('drop.csv'), ...at.slice(2), '-c', OWNER, '--allow-duplicates']
    expect((await cli(again, options)).code).toBe(0)
    expect((await shown()).stderr).toContain(note)
    expect((await shown('-c', OWNER)).stderr).not.toContain(note)
  })

  test('distinguishes sent from unsent rows, counts copies, and shows the reason of a failure', async () => {
    const { shown, path } = await minted((title) => title === 'Dusk')
    await writeFile(path('drop.csv'), `${CONTENT}Dawn,same,${OWNER}\nNoon,new,${OWNER}\n`)
    const { html } = await shown()
    const [first = '', failed = '', copy = '', third = '', added = ''] = cards(html)
    expect(first).toContain('deployed')
    expect(failed).toContain('<span class="badge bad">failed</span>')
    expect(failed).toContain('this one is not liked')
    expect(copy).toMatch(/<span>token [12]<\/span>/)
    for (const card of [third, added]) expect(card).not.toContain('badge')
    expect(html).toContain('Preview of a drop: 3 of 5 rows are already sent, and 2 are minted')
    expect(html).toContain('Not sent 2')
  })

  test('ignores a run of another collection', async () => {
    const { shown } = await minted()
    const { html } = await shown('-c', '0x1111111111111111111111111111111111111111')
    expect(html).toContain('Preview of a drop: no rows have been sent from this machine')
    expect(html).not.toContain('class="badge')
  })
})

describe('the page', () => {
  test('has a card for each row: picture, title, description, attributes and the rest collapsed', async () => {
    const { run, page, path } = await drop([row('Dawn'), row('Dusk')])
    const { code, stdout } = await run('--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      file: path('drop-preview.html'),
      rows: 2,
      errors: 0,
      receivers: 1,
      blockchain: 'polygon',
      contract_address: null,
      mapped_columns: {},
      run: null,
      minted: 0,
    })
    const html = await page()
    expect(cards(html)).toHaveLength(2)
    const [first = ''] = cards(html)
    expect(first).toContain('<img src="./a.png" alt="Dawn" loading="lazy" decoding="async">')
    expect(first).toContain('>Dawn</h2>')
    expect(first).toContain('<span><bdi>mood</bdi></span> <bdi>calm</bdi>')
    expect(first).toContain(`<dt>Receiver</dt><dd><code>${OWNER}</code></dd>`)
    expect(first).toContain('<dt>artist</dt><dd><bdi>E</bdi></dd>')
    expect(html).toContain('<b>2</b><span>rows, all valid</span>')
  })

  test('shows each error at the top and beside its row with line, column and hint, and exits with 2', async () => {
    const dropFolder = await drop([row('Dawn'), row('Gone', 'nope.png'), row('Bad', 'a.png', '0x12')])
    const { run, page } = dropFolder
    const result = await run('--json')
    expect(result.code).toBe(2)
    expect(JSON.parse(result.stdout)).toMatchObject({ rows: 1, errors: 2 })
    const previewResult = await preview(dropFolder, [dropFolder.path('drop.csv'), '--force'], { tty: true })
    expect(previewResult.stdout).toMatch(/^VALID ROWS +1$/m)
    expect(errorOf(result)).toMatchObject({ code: 'invalid_manifest', details: { issue_count: 2 } })
    const html = await page()
    const [, gone = '', bad = ''] = cards(html)
    expect(gone).toContain('id="line-3"')
    expect(gone).toContain('>Gone</h2>')
    expect(gone).toContain('<code>3:3</code> <bdi>image doesn&#39;t exist')
    expect(gone).toContain('<span class="hint">Paths are relative to the folder of the manifest')
    expect(bad).toContain('<img src="./a.png" alt="Bad"')
    expect(bad).toContain('<code>4:4</code> <bdi>receiver')
    expect(html).toContain('<a href="#line-3"><code>3:3</code></a>')
    expect(html).toContain('With errors 2')
  })

  test('shows all errors of a row on its card, and gives each unreadable line its own card', async () => {
    const { run, page } = await drop([row('', 'nope.png', '0x12'), 'too,few', 'and,again', row('Good')])
    expect((await run()).code).toBe(2)
    const found = cards(await page())
    expect(found).toHaveLength(4)
    expect(found[0]?.match(/<li><code>2:/g)).toHaveLength(3)
    expect(found[1]).toContain('id="line-3"')
    expect(found[2]).toContain('id="line-4"')
    expect(found[3]).toContain('>Good</h2>')
  })

  test('says why a manifest has no rows', async () => {
    const workFolder = await folder({ 'drop.csv': 'title,nonsense\n' })
    expect((await preview(workFolder, [workFolder.path('drop.csv')])).code).toBe(2)
    const html = await readFile(workFolder.path('drop-preview.html'), 'utf8')
    expect(cards(html)[0]).toContain('The manifest itself')
  })

  test('is not written if the manifest does not exist', async () => {
    const workFolder = await folder({})
    const { code, stdout, stderr } = await preview(workFolder, [workFolder.path('drop.csv')])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain("doesn't exist")
    expect(await readdir(workFolder.path('.'))).toEqual([])
  })

  test('reads a manifest from standard input', async () => {
    const workFolder = await folder({})
    const { code } = await preview(workFolder, ['-'], {
      stdin: `${HEADER}\n${row('Dawn', 'https://example.com/a.png')}\n`,
    })
    expect(code).toBe(0)
    expect(cards(await readFile(workFolder.path('stdin-preview.html'), 'utf8'))).toHaveLength(1)
  })

  test('links images in its folder by name, even if its path has a link', async () => {
    const dropFolder = await drop([row('Dawn')])
    await symlink(dropFolder.path('.'), dropFolder.path('link'))
    const argv = [dropFolder.path('link/drop.csv'), '--to', dropFolder.path('link/p.html')]
    expect((await preview(dropFolder, argv)).code).toBe(0)
    expect(await readFile(dropFolder.path('p.html'), 'utf8')).toContain('<img src="./a.png"')
  })

  test.each([
    ['its own folder', 'out'],
    ['a link to its folder', 'linked'],
  ])('links images relative to %s, with any characters in their names', async (_, out) => {
    const name = `in %41 #1?x 'q'&"é.png`
    const { run, path } = await drop([row('Dawn', name.replaceAll('"', '""'))])
    await writeFile(path(name), png(QUARTERS))
    await mkdir(path('out'))
    await mkdir(path('elsewhere/deeper'), { recursive: true })
    await symlink(path('elsewhere/deeper'), path('linked'))
    expect((await run('--to', `${out}/p.html`)).code).toBe(0)
    const html = await readFile(path(`${out}/p.html`), 'utf8')
    const source = /<img src="([^"]*)"/.exec(html)?.[1]?.replaceAll('&#39;', "'") ?? ''
    const imagePath = fileURLToPath(new URL(source, pathToFileURL(path(`${out}/p.html`))))
    expect(await realpath(imagePath)).toBe(await realpath(path(name)))
  })
})

describe('hostile text', () => {
  test.each([
    '<script>alert(1)</script>',
    '</style><script>alert(1)</script>',
    '</title><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    '&lt;b&gt;',
    'x\u0001y\u009bz',
  ])('is escaped everywhere: %j', async (text) => {
    const quoted = text.replaceAll('"', '""')
    const workFolder = await folder({
      'drop.csv': `title,description,image,receiver,id,attr:${'mood'},extra:artist\n"${quoted}","${quoted}",a.png,${OWNER},"${quoted}","${quoted}","${quoted}"\n`,
    })
    await writeFile(workFolder.path('a.png'), png(QUARTERS))
    await preview(workFolder, [workFolder.path('drop.csv')])
    const html = (await readFile(workFolder.path('drop-preview.html'), 'utf8')).replace(
      `<script>${PAGE_SCRIPT}</script>`,
      '',
    )
    const tags = html.match(/<[a-z][^>]*>/gi) ?? []
    expect(
      tags.filter((tag) => /^<script|onerror|onmouseover='/i.test(tag.replace(/(alt|title)="[^"]*"/g, ''))),
    ).toEqual([])
    expect(html.match(/<style>/g)).toHaveLength(1)
    expect(html).not.toMatch(/[\u0001\u009b]/)
    if (text === '&lt;b&gt;') expect(html).toContain('&amp;lt;b&amp;gt;')
  })

  test.each([
    ['javascript:alert(1)', 2],
    ['data:text/html,<script>alert(1)</script>', 2],
    ['https://example.com/x.png', 0],
    ['ipfs://bafkreib6exkz5ykhsqzjv7i6vyvyzk6x2mvvazx7lzr4h6tm3lqzq4x7ru', 0],
  ])('loads no remote picture, and links only web addresses: %s', async (url, exit) => {
    const { run, page } = await drop([row('Dawn', url)])
    expect((await run()).code).toBe(exit)
    const html = await page()
    expect(html).not.toContain('<img')
    expect(html.match(/href="(?!#)[^"]*"/g) ?? []).toEqual(
      url.startsWith('https:') ? Array<string>(2).fill(`href="${url}"`) : [],
    )
    expect(html).toMatch(/img-src file:;/)
  })

  test('loads images from the web, and nothing else, with --remote-images', async () => {
    const { run, page } = await drop([row('Dawn', 'https://example.com/x.png')])
    await run('--remote-images')
    expect(await page()).toContain('<img src="https://example.com/x.png"')
    expect(await page()).toMatch(/img-src file: https: http:;/)
  })

  test('truncates a title of 500 characters and metadata of a megabyte, and says so', async () => {
    const { run, page } = await drop([row('W'.repeat(500)), `Big,"${'x'.repeat(1_000_000)}",a.png,${OWNER},,,`])
    await run()
    const html = await page()
    expect(html.length).toBeLessThan(40_000)
    expect(html).toMatch(/… \([\d,]+ more characters\)/)
  })
})

describe('the file', () => {
  test('is overwritten without a prompt only if it is an earlier preview', async () => {
    const { run, path } = await drop([row('Dawn')])
    expect((await run()).code).toBe(0)
    const page = await readFile(path('drop-preview.html'), 'utf8')
    expect((await run()).code).toBe(0)
    for (const other of [page.replace('(preview)', '(report)'), page.replace(/<meta name="generator".*>/, ''), '']) {
      await writeFile(path('drop-preview.html'), other)
      expect((await run()).code).toBe(3)
      expect(await readFile(path('drop-preview.html'), 'utf8')).toBe(other)
    }
  })

  test('of someone else is overwritten only with --force', async () => {
    const { run, path } = await drop([row('Dawn')])
    await writeFile(path('drop-preview.html'), 'mine')
    const { code, stderr } = await run()
    expect(code).toBe(3)
    expect(stderr).toContain('--force')
    expect(await readFile(path('drop-preview.html'), 'utf8')).toBe('mine')
    expect((await run('--force')).code).toBe(0)
    expect(await readFile(path('drop-preview.html'), 'utf8')).toContain('Dawn')
  })

  test.each([
    ['a folder', 'sub'],
    ['a missing folder', 'none/x.html'],
    ['standard output', '-'],
    ['a device', '/dev/null'],
  ])('rejects an output path before anything is read: %s', async (_, to) => {
    const { run, path } = await drop([row('Dawn')])
    await mkdir(path('sub'))
    const { code, stdout, stderr } = await run('--to', to, '--force')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('--to')
    expect((await readdir(path('.'))).filter((name) => name.startsWith('.drop') || name.endsWith('.html'))).toEqual([])
  })

  test('replaces a link, never its target', async () => {
    const { run, path } = await drop([row('Dawn')])
    await writeFile(path('precious'), 'mine')
    await symlink(path('precious'), path('drop-preview.html'))
    expect((await run('--force')).code).toBe(0)
    expect(await readFile(path('precious'), 'utf8')).toBe('mine')
  })

  test('keeps a file that appears while it is written', async () => {
    const { path } = await folder({})
    const sheet = await SheetFile.open(path('p.html'))
    await sheet.writeCard('mine')
    await writeFile(path('p.html'), 'theirs')
    await expect(sheet.finish('', '', false)).rejects.toMatchObject({ code: 'usage' })
    await sheet.close()
    expect(await readFile(path('p.html'), 'utf8')).toBe('theirs')
    expect((await readdir(path('.'))).filter((name) => name.includes('p.html'))).toEqual(['p.html'])
  })

  test('leaves no other files behind', async () => {
    const { run, path } = await drop([row('Dawn')])
    await run()
    expect((await readdir(path('.'))).filter((name) => !name.startsWith('.local')).sort()).toEqual(
      expect.arrayContaining(['a.png', 'drop-preview.html', 'drop.csv']),
    )
    expect((await readdir(path('.'))).filter((name) => name.startsWith('.drop'))).toEqual([])
  })

  test('opens in the browser with --open', async () => {
    const dropFolder = await drop([row('Dawn')])
    await writeFile(dropFolder.path('browser'), `#!/bin/sh\nprintf %s "$1" > "${dropFolder.path('asked')}"\n`, {
      mode: 0o700,
    })
    const env = { ...dropFolder.options.env, BROWSER: 'browser', PATH: `${dropFolder.path('.')}:/usr/bin:/bin` }
    await preview(dropFolder, [dropFolder.path('drop.csv'), '--open'], { env })
    expect(await readFile(dropFolder.path('asked'), 'utf8')).toBe(
      pathToFileURL(dropFolder.path('drop-preview.html')).href,
    )
  })

  test('uses bounded memory for 20,000 rows and stays small', async () => {
    const dropFolder = await drop(Array.from({ length: 20_000 }, (_, i) => row(`Tide ${i}`)))
    const before = process.memoryUsage().rss
    expect((await dropFolder.run('-q')).code).toBe(0)
    const { size } = await stat(join(dropFolder.path('.'), 'drop-preview.html'))
    expect(size / 20_000).toBeLessThan(1000)
    expect(process.memoryUsage().rss - before).toBeLessThan(160 * 1024 * 1024)
  })
})
