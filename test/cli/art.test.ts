/** @module-tag slow */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { folder } from './drop.ts'
import { cli } from './harness.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** Makes a home with images at these paths below `layers`. */
async function layers(paths: readonly string[], others: Readonly<Record<string, string>> = {}) {
  const { path, options } = await folder({})
  const write = async (name: string, content: Buffer | string) => {
    await mkdir(dirname(path(name)), { recursive: true })
    await writeFile(path(name), content)
  }
  for (const name of paths) await write(`layers/${name}`, PNG)
  for (const [name, text] of Object.entries(others)) await write(name, text)
  const gdn = (...argv: string[]) => cli(['art', ...argv], { ...options, cwd: path('.') })
  return { path, gdn, write }
}

const HASHLIPS = ['1_Sky/Blue#3.png', '1_Sky/Red.png', '2_Body/Cat#5.png', '2_Body/Dog.png', '10_Hat/Cap#2.png']

describe('gdn art init', () => {
  test('prints a file that gdn art check accepts, with HashLips weights and layers in natural order', async () => {
    const { gdn, write } = await layers([...HASHLIPS, '10_Hat/no.png', '10_Hat/.DS_Store'])
    const { code, stdout, stderr } = await gdn('init', 'layers')
    expect(code, stderr).toBe(0)
    expect(stdout.match(/- name: .*/g)).toEqual(['- name: Sky', '- name: Body', '- name: Hat'])
    expect(stdout).toContain('Blue: { file: "Blue#3.png", weight: 3 }')
    expect(stdout).toContain('"no": { file: no.png, weight: 1 }')
    await write('art.yaml', stdout)
    const checked = await gdn('check', 'art.yaml', '--count', '8', '--json')
    expect(checked.code, checked.stderr).toBe(0)
    expect(JSON.parse(checked.stdout)).toMatchObject({ verdict: 'possible', combinations: '8', largest_edition: 8 })
  })

  test.each([
    ['an empty layer', [...HASHLIPS], { 'layers/3_Eyes/.gitkeep': '' }, 'layers/3_Eyes', 'is empty'],
    ['a layer in a layer', [...HASHLIPS, '1_Sky/Night/Dark.png'], {}, 'layers/1_Sky/Night', 'is a folder in'],
    [
      'a file that is no image',
      [...HASHLIPS],
      { 'layers/1_Sky/x.png': 'text' },
      'layers/1_Sky/x.png',
      'is not an image',
    ],
    ['equal names', [...HASHLIPS, '1_Sky/blue#1.png'], {}, 'layers/1_Sky/blue#1.png', 'the same name as'],
    ['equal layers', [...HASHLIPS, '3-sky/Blue.png'], {}, 'layers/3-sky', 'the same name as'],
    ['an image beside the layers', [...HASHLIPS, 'x.png'], {}, 'layers/x.png', 'not in the folder of a layer'],
    ['a missing folder', [], {}, 'layers', "doesn't exist"],
  ])('rejects %s with its path', async (_, paths, others, file, message) => {
    const { gdn } = await layers(paths, others)
    const { code, stdout, stderr } = await gdn('init', 'layers')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.split('\n')[0]).toContain(`error: ${file}: `)
    expect(stderr).toContain(message)
  })
})

const ART = `title: "Tide #{number}"
description: One
layers:
  - name: Sky
    traits: { Blue: { file: b.png, weight: 3 }, Red: { file: r.png } }
  - name: Body
    traits: { Cat: { file: c.png }, Dog: { file: d.png, count: 3 } }
  - name: Hat
    traits: { Cap: { file: c.png }, Crown: { file: d.png, count: 2 } }
rules:
  - if: Hat/Crown
    requires: Body/Dog
`

describe('gdn art check', () => {
  test('reports what the rules and counts allow', async () => {
    const { gdn } = await layers([], { 'art.yaml': ART })
    const { code, stdout } = await gdn('check', 'art.yaml', '--count', '5', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ verdict: 'possible', count: 5, combinations: '6', combinations_exact: true },
      ...{ largest_edition: 5, upper_bound: '5', reasons: [] },
    })
  })

  test('refuses an impossible edition with the lines of the rules and counts that contradict each other', async () => {
    const { gdn } = await layers([], { 'art.yaml': ART.replace('count: 3', 'count: 1') })
    const { code, stdout, stderr } = await gdn('check', 'art.yaml', '--count', '3', '--json')
    expect(code, stderr).toBe(5)
    const { verdict, reasons } = JSON.parse(stdout) as { verdict: string; reasons: { kind: string; line: number }[] }
    expect(verdict).toBe('impossible')
    expect(reasons.map(({ kind, line }) => [kind, line])).toEqual([
      ['rule', 11],
      ['count', 7],
      ['count', 9],
      ['combinations', null],
    ])
    const shown = await gdn('check', 'art.yaml', '--count', '3')
    expect(shown.stderr).toContain('art.yaml:11: "Hat/Crown" requires "Body/Dog"')
    expect(shown.stderr).toContain('art.yaml:9: 2 NFTs with "Hat/Crown"')
  })

  test('lists deviations from weights, and refuses them with --strict', async () => {
    const text = ART.replace('Red: { file: r.png }', 'Red: { file: r.png, weight: 97 }')
    const { gdn } = await layers([], { 'art.yaml': text })
    const accepted = await gdn('check', 'art.yaml', '--count', '5')
    expect(accepted.code).toBe(0)
    expect(accepted.stderr).toContain('2 NFTs with "Sky/Blue" instead of 0')
    expect(accepted.stderr).toContain('possible, but 2 traits deviate from the weight.')
    expect(await gdn('check', 'art.yaml', '--count', '5', '--strict')).toMatchObject({ code: 5 })
  })

  test('names line and column of a problem in the file', async () => {
    const { gdn } = await layers([], { 'art.yaml': ART.replace('if: Hat/Crown', 'if: Hat/Crwn') })
    const { code, stderr } = await gdn('check', 'art.yaml', '--count', '5')
    expect(code).toBe(2)
    expect(stderr).toContain(
      'art.yaml:11:9 (rules[0].if): "Hat/Crwn" is not a layer, trait or group: did you mean "Hat/Crown"?',
    )
  })

  test('rejects a one-of-one whose number is above the count', async () => {
    const { gdn } = await layers([], { 'art.yaml': `${ART}one_of_ones:\n  - { at: 9, image: x.png }\n` })
    const { code, stderr } = await gdn('check', 'art.yaml', '--count', '5')
    expect(code).toBe(2)
    expect(stderr).toContain('art.yaml:14:5')
  })
})
