import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { readManifest } from '../../src/manifest/read.ts'
import { DropCheck } from '../../src/marketplace/check-drop.ts'
import { RULES, type RuleName } from '../../src/marketplace/rules.ts'
import { OWNER } from '../helpers/addresses.ts'
import { whenFileDone } from '../helpers/clean-up.ts'
import { pngNamed, rawPng } from '../helpers/images.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const svg = (content: string, root = '') =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" ${root}>${content}</svg>`
/** A PNG whose header declares a size. Its pixels are few, which no check reads. */
const sized = (width: number, height: number) =>
  rawPng({ width, height, depth: 8, color: 0, rows: Buffer.alloc(height * (width + 1)) })
const box = (type: string, content: Buffer) => {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(8 + content.length)
  head.write(type, 4, 'latin1')
  return Buffer.concat([head, content])
}
const movie = (brand: string) =>
  Buffer.concat([box('ftyp', Buffer.from(`${brand}\0\0\0\0`, 'latin1')), box('moov', box('mvhd', Buffer.alloc(100)))])

const FILES: Readonly<Record<string, string | Uint8Array>> = {
  'large.png': sized(3000, 3000),
  'small.png': pngNamed('small'),
  'wide.png': sized(4000, 100),
  'still.svg': svg('<path d="M0 0h9v9z"/>'),
  'script.svg': svg('<script>alert(1)</script>'),
  'animate.svg': svg('<rect><animate attributeName="x" to="9"/></rect>'),
  'set.svg': svg('<rect><set attributeName="x" to="9"/></rect>'),
  'handler.svg': svg('<rect/>', 'onload="alert(1)"'),
  'keyframes.svg': svg('<style>@keyframes a { to { opacity: 0 } }</style>'),
  'clip.mp4': movie('isom'),
  'clip.mov': movie('qt  '),
  'page.html': '<!doctype html><title>x</title>',
  'paper.pdf': '%PDF-1.4\n%%EOF\n',
  'song.mp3': 'ID3\x03\0\0\0\0\0\0',
  'notes.txt': 'Only text.\n',
  'bitmap.bmp': Buffer.from('BM\xff\xfe\0\0\x80', 'latin1'),
  bitmap: Buffer.from('BM\xff\xfe\0\0\x80', 'latin1'),
}

let dir: string
beforeAll(async () => {
  dir = await temporaryFolder('gdn-marketplace-', whenFileDone)
  for (const [name, content] of Object.entries(FILES)) await writeFile(join(dir, name), content)
})

let createdCount = 0

/** Returns the findings of a manifest, each as `rule@row:column`, and the hints in the same form. */
async function check(text: string, name = 'drop.csv') {
  const path = join(dir, `${createdCount++}`, name)
  await mkdir(dirname(path))
  await writeFile(path, text)
  return await checkFile(path, [dir])
}

async function checkFile(path: string, fileFolders: readonly string[]) {
  const check = new DropCheck(path)
  const options = { blockchain: 'polygon', receiver: OWNER, localFiles: true, fileFolders, onRow: check.add } as const
  for await (const item of readManifest({ path }, options)) {
    if ('issue' in item) throw new Error(`${item.issue.place.line}: ${item.issue.message}`)
  }
  return await check.finish(new AbortController().signal)
}

/** A CSV file with an image in each row. */
const csv = (columns: string, ...rows: string[]) =>
  `title,description,image,${columns}\n${rows.map((row) => `A,x,${MINI},${row}\n`).join('')}`
/** The path of a good image, as rows of `csv` name it. */
const MINI = '../large.png'
const image = (file: string) => `title,description,image\nA,x,${MINI}\nB,x,${file}\n`
const animation = (file: string) => `title,description,image,file:animation_url\nA,x,${MINI},\nB,x,${MINI},${file}\n`
const json = (...rows: object[]) => JSON.stringify(rows.map((row) => ({ title: 'A', description: 'x', ...row })))
const WEB = 'https://example.com'
const CID = 'ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'

type Wrong = [what: string, text: string, rule: RuleName, row: number, column: string, name?: string]

const WRONG: readonly Wrong[] = [
  ['a row without an image', `title,description,image\nA,x,${MINI}\nB,x,\n`, 'image-missing', 2, 'image'],
  ['no column for images', 'title,description\nA,x\n', 'image-missing', 1, 'image'],
  ['a JSON row without an image', json({ image: MINI }, {}), 'image-missing', 2, 'image', 'drop.json'],
  ['a video as the image', image('../clip.mp4'), 'image-type', 2, 'image'],
  ['a QuickTime file as the image', image('../clip.mov'), 'image-type', 2, 'image'],
  ['a page as the image', image('../page.html'), 'image-type', 2, 'image'],
  ['a PDF as the image', image('../paper.pdf'), 'image-type', 2, 'image'],
  ['audio as the image', image('../song.mp3'), 'image-type', 2, 'image'],
  ['text as the image', image('../notes.txt'), 'image-type', 2, 'image'],
  ['the URL of a video as the image', image(`${WEB}/a.mp4`), 'image-type', 2, 'image'],
  ['the URL of a model as the image', image(`${WEB}/a.GLB?v=1`), 'image-type', 2, 'image'],
  ['an ipfs path to a video as the image', image(`${CID}/a.webm`), 'image-type', 2, 'image'],
  ...['bmp', 'tiff', 'psd', 'zip', 'mp2'].map(
    (end): Wrong => [`the URL of a .${end} file as the image`, image(`${WEB}/a.${end}`), 'image-extension', 2, 'image'],
  ),
  ['a local BMP file as the image', image('../bitmap.bmp'), 'image-extension', 2, 'image'],
  ['a local file of an unknown format as the image', image('../bitmap'), 'image-extension', 2, 'image'],
  ...['avi', 'zip', 'exe'].map(
    (end): Wrong => [
      `the URL of a .${end} file as the animation`,
      animation(`${WEB}/a.${end}`),
      ...(['animation-extension', 2, 'file:animation_url'] as const),
    ],
  ),
  ['an SVG with a script', image('../script.svg'), 'image-motion', 2, 'image'],
  ['an SVG with an animation', image('../animate.svg'), 'image-motion', 2, 'image'],
  ['an SVG that sets an attribute', image('../set.svg'), 'image-motion', 2, 'image'],
  ['an SVG with an event handler', image('../handler.svg'), 'image-motion', 2, 'image'],
  ['an SVG with an animation in CSS', image('../keyframes.svg'), 'image-motion', 2, 'image'],
  ['a small image', image('../small.png'), 'image-pixels', 2, 'image'],
  ['an image that is not high enough', image('../wide.png'), 'image-pixels', 2, 'image'],
  ['a QuickTime file as the animation', animation('../clip.mov'), 'animation-type', 2, 'file:animation_url'],
  ['an image as the animation', animation('../large.png'), 'animation-type', 2, 'file:animation_url'],
  ['a PDF as the animation', animation('../paper.pdf'), 'animation-type', 2, 'file:animation_url'],
  ['the URL of a GIF as the animation', animation(`${WEB}/a.gif`), 'animation-type', 2, 'file:animation_url'],
  ['the URL of a FLAC file as the animation', animation(`${WEB}/a.flac`), 'animation-type', 2, 'file:animation_url'],
  [
    'a color with #',
    csv('extra:background_color', 'FFFFFF', '#FFFFFF'),
    'background-color',
    2,
    'extra:background_color',
  ],
  ['a short color', csv('extra:background_color', 'fff'), 'background-color', 1, 'extra:background_color'],
  ['a named color', csv('extra:background_color', 'tomato'), 'background-color', 1, 'extra:background_color'],
  ['a link that is not a URL', csv('extra:external_url', 'example.com'), 'external-url', 1, 'extra:external_url'],
  ['a link with a script', csv('extra:external_url', 'javascript:alert(1)'), 'external-url', 1, 'extra:external_url'],
  [
    'traits that differ in case',
    csv('attr:Background,attr:background', 'Red,', ',Blue'),
    'trait-spelling',
    2,
    'attr:background',
  ],
  [
    'traits that differ in a space',
    csv('attr:Background,attr:Back ground', 'Red,', ',Blue'),
    'trait-spelling',
    2,
    'attr:Back ground',
  ],
  [
    'a misspelled trait in one row',
    csv('attr:Eyes,attr:Eyess', ...Array.from({ length: 8 }, () => 'Blue,'), ',Blue'),
    ...(['trait-typo', 9, 'attr:Eyess'] as const),
  ],
  [
    'a misspelled typed trait in one JSON row',
    json(...Array.from({ length: 8 }, () => ({ image: MINI, 'attr(number):Strength': 5 })), {
      image: MINI,
      'attr(number):Strenght': 5,
    }),
    ...(['trait-typo', 9, 'attr(number):Strenght', 'drop.json'] as const),
  ],
  [
    'a trait with two maxima',
    json({ image: MINI, 'attr(number,max=10):Power': 5 }, { image: MINI, 'attr(number,max=100):Power': 5 }),
    ...(['trait-max', 2, 'attr(number,max=100):Power', 'drop.json'] as const),
  ],
  ['a name that ends with a type', csv('attr:Level (number)', '5', '6'), 'trait-type', 1, 'attr:Level (number)'],
  ['a name with a type before its colon', csv('attr:number:Level', '5', '6'), 'trait-type', 1, 'attr:number:Level'],
  ['a name with a type after its colon', csv('attr:Born: date', '5', '6'), 'trait-type', 1, 'attr:Born: date'],
  ['traits that differ in an accent', csv('attr:Décor,attr:Decor', 'Red,', ',Blue'), 'trait-spelling', 2, 'attr:Decor'],
  [
    'traits of JSON rows that differ in case',
    json({ image: MINI, 'attr:Hat': 'Cap' }, { image: MINI, 'attr:HAT': 'Bowler' }),
    ...(['trait-spelling', 2, 'attr:HAT', 'drop.json'] as const),
  ],
  [
    'traits of metadata objects that differ in case',
    JSON.stringify(
      ['Hat', 'hat'].map((tag) => ({
        ...{ title: 'A', description: 'x', file_fields: [{ key: 'image', url: `${WEB}/a.png` }] },
        attribute: [{ tag, value: tag === 'Hat' ? 'Cap' : 'Bowler' }],
      })),
    ),
    ...(['trait-spelling', 2, 'attribute[0]', 'drop.json'] as const),
  ],
  ['a number in one row and text in another', csv('attr:Level', '5', 'high'), 'trait-type', 2, 'attr:Level'],
  ['text in one row and a number in another', csv('attr:Level', 'high', '5'), 'trait-type', 2, 'attr:Level'],
  ['a mapped column with two types', csv('attr:Level', '5', '6', 'n/a'), 'trait-type', 3, 'attr:Level'],
  ['values that differ in case', csv('attr:Hat', 'Cap', 'cap'), 'value-spelling', 2, 'attr:Hat'],
  ['values that differ in a space', csv('attr:Hat', 'Top hat', 'Tophat'), 'value-spelling', 2, 'attr:Hat'],
  ['values that differ in an accent', csv('attr:Hat', 'Beret', 'Béret'), 'value-spelling', 2, 'attr:Hat'],
  ['a value in one row', csv('attr:Hat', 'Cap', 'Cap', 'Cap', 'Cpa'), 'value-once', 4, 'attr:Hat'],
]

describe('the rules of OpenSea', () => {
  test('are checked against at least 40 wrong drops, and each rule for rows has one', () => {
    expect(WRONG.length).toBeGreaterThanOrEqual(40)
    const ofRows = Object.keys(RULES).filter((rule) => !rule.startsWith('collection-'))
    expect([...new Set(WRONG.map(([, , rule]) => rule))].sort()).toEqual(ofRows.sort())
  })

  test.each(WRONG)('find %s', async (_what, text, rule, row, column, name) => {
    const findings = await check(text, name)
    const { severity, source, date } = RULES[rule]
    const found = (['error', 'warning', 'hint'] as const).flatMap((one) => findings.records(one))
    expect(found).toEqual([
      {
        ...{ severity, row, line: expect.any(Number), column, rule },
        message: expect.any(String),
        source,
        source_date: date,
      },
    ])
    // In a CSV file, the header is line 1.
    if (name === undefined) expect(found[0]?.line).toBe(row + 1)
  })

  test('have a public source with a date', () => {
    for (const { source, date } of Object.values(RULES)) {
      expect(source).toMatch(/^https:\/\/(?:docs\.opensea\.io|projectopensea\.github\.io)\//)
      expect(date).toMatch(/^20\d\d-\d\d-\d\d$/)
    }
  })

  test('find nothing but a recommendation in the example drop', async () => {
    const findings = await checkFile('examples/drop.csv', [])
    expect([findings.records('error'), findings.records('warning')]).toEqual([[], []])
    expect(findings.records('hint').map(({ rule }) => rule)).toEqual(['image-pixels'])
  })
})

describe('a finding', () => {
  test('has the position of its column in a CSV file', async () => {
    const [issue] = (await check(csv('attr:Hat,attr:hat', 'Cap,', ',Bowler'))).issues('warning')
    expect(issue?.place).toEqual({ file: expect.stringContaining('drop.csv'), line: 3, column: 5, field: 'attr:hat' })
    expect(issue?.hint).toBe(
      `Use one spelling. Rule trait-spelling: ${RULES['trait-spelling'].source} (${RULES['trait-spelling'].date})`,
    )
  })

  test('tells a trait that differs in spelling and in type', async () => {
    const findings = await check(csv('attr(number):Power,attr:power', '5,', ',6', ',high'))
    expect(findings.records('warning').map(({ rule, message }) => [rule, message])).toEqual([
      ['trait-spelling', 'the trait "power" is spelled "Power" on line 2, so OpenSea shows two traits'],
      ['trait-type', '"6" is a number, but "Power" is a typed trait on line 2'],
    ])
  })

  test('is reported once for a file that several rows have, and once for a spelling', async () => {
    const findings = await check(csv('attr:Hat', 'Cap', 'cap', 'cap', 'CAP'))
    expect(findings.records('warning').map(({ row }) => row)).toEqual([2, 4])
    const media = await check(`title,description,image\nA,x,../script.svg\nB,x,../script.svg\n`)
    expect(media.records('warning')).toHaveLength(1)
  })

  test('quotes hostile names', async () => {
    const findings = await check(
      json({ image: MINI, 'attr:Hat': '\u0007Cap' }, { image: MINI, 'attr:Hat': 'cap\u202e' }),
      'drop.json',
    )
    const [{ message } = { message: '' }] = findings.records('warning')
    expect(message).toContain('\\u0007Cap')
  })

  test('is limited to 1,000 for each severity', async () => {
    const findings = await check(`title,description,image\n${'A,x,\n'.repeat(1200)}`)
    expect(findings.counts.warning).toBe(1200)
    expect(findings.records('warning')).toHaveLength(1000)
  })
})

describe('these are good', () => {
  test.each([
    ['a still SVG', image('../still.svg')],
    ['URLs without an extension', image(`${WEB}/1`)],
    ['an ipfs URL', image(CID)],
    ['an MP4 as the animation', animation('../clip.mp4')],
    ['a page as the animation', animation('../page.html')],
    ['a page of a server as the animation', animation(`${WEB}/play.php?id=1`)],
    ['a number with a minus sign next to the same without', csv('attr:Level', '1', '-1')],
    ['a URL that ends in a version', image(`${WEB}/token/1.25`)],
    ['similar traits of the same rows', csv('attr:Left eye,attr:Left ear', 'a,b', 'a,b', 'a,', 'a,', 'a,')],
    ['numbered traits', csv('attr:Layer 1,attr:Layer 2', ...Array.from({ length: 8 }, () => 'a,'), ',a')],
    ['times', csv('attr:Hour', '00:00', '01:00')],
    ['grades that differ in a sign', csv('attr:Grade', 'C', 'C-', 'C+')],
    ['a serial number', csv('attr:Serial', '1', '2', '3', '4', '5', '6')],
    ['values of another script that differ in a vowel sign', csv('attr:नाम', 'कि', 'की')],
  ])('%s', async (_what, text) => {
    const findings = await check(text)
    expect(findings.counts).toEqual({ error: 0, warning: 0, hint: 0 })
  })
})
