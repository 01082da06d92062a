/** @module-tag slow */
import { execFileSync } from 'node:child_process'
import { copyFile, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { imageWarnings } from '../../../src/cli/art/check-images.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { png } from '../../helpers/images.ts'
import { folder } from '../batch/drop.ts'
import { cli, errorOf } from '../harness.ts'

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
  if ('art.yaml' in others) {
    for (const letter of 'bcdr') {
      await write(`${letter}.png`, png({ width: 1, height: 1, at: () => [letter.charCodeAt(0), 0, 0] }))
    }
  }
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

  test('prints comments with groups, rules and one-of-ones that are valid without the comment signs', async () => {
    const { gdn, write } = await layers([...HASHLIPS, '../special/one.png'])
    const { stdout } = await gdn('init', 'layers')
    const blocks = /^# (?:groups|rules|one_of_ones|collection):.*\n(?:# {2,}.*\n)*/gm
    expect(stdout.match(blocks)).toHaveLength(4)
    await write(
      'art.yaml',
      stdout.replaceAll(blocks, (block) => block.replaceAll(/^# /gm, '')),
    )
    const { code, stderr } = await gdn('check', 'art.yaml', '--count', '3')
    expect(code, stderr).toBe(0)
  })

  test.each([
    ['an empty layer', [...HASHLIPS], { 'layers/3_Eyes/.gitkeep': '' }, 'layers/3_Eyes', 'is empty'],
    ['a layer in a layer', [...HASHLIPS, '1_Sky/Night/Dark.png'], {}, 'layers/1_Sky/Night', 'is a folder inside'],
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

test('gdn art init skips files that are no images by their names, and names them', async () => {
  const { gdn, write } = await layers(HASHLIPS)
  await write('layers/1_Sky/readme.txt', 'Draw more')
  await write('layers/sky.psd', 'source')
  const { code, stdout, stderr } = await gdn('init', 'layers')
  expect(code, stderr).toBe(0)
  expect(stdout).not.toMatch(/readme|psd/)
  expect(stderr).toContain('Skipped 2 files: layers/sky.psd, layers/1_Sky/readme.txt\n')
})

test('gdn art init ignores its own output in the folder of the layers', async () => {
  const { gdn, write } = await layers(HASHLIPS)
  await write('layers/art.yaml', '')
  const { code, stdout } = await gdn('init', 'layers')
  expect([code, stdout]).toEqual([0, expect.stringContaining('name: Hat')])
})

describe('gdn art check', () => {
  test('does not name the count as the largest edition if it tried no larger one', async () => {
    const trait = (name: string) => `${name}: { file: b.png }`
    const traits = Array.from({ length: 30 }, (_, index) => trait(`T${index}`)).join(', ')
    const text = ['A', 'B', 'C', 'D'].map((name) => `  - name: ${name}\n    traits: { ${traits} }\n`).join('')
    const { gdn } = await layers([], { 'art.yaml': `title: "#{number}"\ndescription: x\nlayers:\n${text}` })
    const checked = await gdn('check', 'art.yaml', '--count', '5', '--json')
    expect(JSON.parse(checked.stdout)).toMatchObject({ largest_edition: null, upper_bound: String(30 ** 4) })
  })

  test('names a similar file for a missing image, but none that another trait has', async () => {
    const { gdn, path } = await layers([], { 'art.yaml': ART })
    await rename(path('r.png'), path('R.PNG'))
    await rm(path('d.png'))
    for (const argv of [['check'], ['preview'], ['generate', '--threads', '1', '--out', 'drop']]) {
      const { stderr } = await gdn(...argv, 'art.yaml', '--count', '5')
      expect(stderr).toContain('"r.png" does not exist: did you mean "R.PNG"?')
    }
    await rename(path('R.PNG'), path('r.png'))
    expect((await gdn('check', 'art.yaml', '--count', '5')).stderr).toContain('"d.png" does not exist (and 1 more)\n')
  })

  test('names the images of a wrong size once for each size', async () => {
    const { gdn, path } = await layers([], { 'art.yaml': ART })
    for (const name of ['r.png', 'd.png']) await sharp(PNG).resize(2, 2).png().toFile(path(name))
    const { stderr } = await gdn('check', 'art.yaml', '--count', '5')
    expect(stderr).toContain(
      '"r.png" has 2 × 2 pixels, but the output has 1 × 1, as do "d.png" (line 7), "d.png" (line 9)\n',
    )
    expect(stderr.split('2 × 2')).toHaveLength(2)
  })

  test('names an image whose name a comment shortens, and images that no layer has', async () => {
    const file = 'Red #2.png'
    const text = ART.replace(
      '- name: Sky\n    traits: { Blue: { file: b.png, weight: 3 }, Red: { file: r.png } }',
      `- name: Sky
    folder: layers/Sky
    traits:
      Blue: { file: b.png, weight: 3 }
      Red:
        file: ${file}`,
    )
    const { gdn } = await layers(['Sky/b.png', `Sky/${file}`], { 'art.yaml': text })
    for (const command of ['check', 'preview']) {
      const { code, stderr } = await gdn(command, 'art.yaml', '--count', '5')
      expect(code).toBe(2)
      expect(stderr).toContain('"Red" does not exist: " #" begins a comment in YAML, so write "Red #2.png" in quotes')
      expect(stderr).toContain('art.yaml: no layer uses layers/Sky/Red #2.png\n')
    }
  })

  test('names a wrong folder of a layer once, at its line, with a similar one', async () => {
    const text = ART.replace('- name: Sky\n', '- name: Sky\n    folder: layers/Skye\n')
    const { gdn } = await layers(['Sky/b.png', 'Sky/r.png'], { 'art.yaml': text })
    const { code, stderr } = await gdn('check', 'art.yaml', '--count', '5')
    expect(code).toBe(2)
    expect(stderr).toContain('error: art.yaml:5:13: "layers/Skye" does not exist: did you mean "layers/Sky"?\n')
    expect(stderr).toContain('The path is relative to the folder of art.yaml.')
    expect(stderr).not.toContain('r.png')
  })

  test('prints reasons and warnings once if its output is piped', async () => {
    const text = ART.replace('count: 3', 'count: 1').replace('"Tide #{number}"', 'Tide')
    const { gdn } = await layers([], { 'art.yaml': text })
    const { stdout, stderr } = await gdn('check', 'art.yaml', '--count', '3')
    expect(stdout).toContain('verdict\timpossible\n')
    for (const part of ['requires', 'the title has no {number}']) {
      expect(stdout).not.toContain(part)
      expect(stderr.split(part)).toHaveLength(2)
    }
    const selected = await gdn('check', 'art.yaml', '--count', '3', '--fields', 'reasons')
    expect(selected.stdout).toContain('requires')
  })

  test('names the same reasons for a deviation as generate, with --strict', async () => {
    const text = ART.replace('Red: { file: r.png }', 'Red: { file: r.png, weight: 97 }')
    const { gdn } = await layers([], { 'art.yaml': text })
    const sentence = '2 NFTs with "Sky/Blue" instead of 0: there are too few combinations for the weights\n'
    for (const argv of [['check'], ['generate', '--out', 'drop']]) {
      const { code, stderr } = await gdn(...argv, 'art.yaml', '--count', '5', '--strict')
      expect([code, stderr]).toEqual([5, expect.stringContaining(sentence)])
    }
  })

  test('lists the values of --fit in its help', async () => {
    const { gdn } = await layers([])
    expect((await gdn('check', '--help')).stdout).toMatch(/--fit[^-]*contain,\s+cover,\s+fill/)
  })

  test('reports what the rules and counts allow', async () => {
    const { gdn } = await layers([], { 'art.yaml': ART })
    const { code, stdout } = await gdn('check', 'art.yaml', '--count', '5', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ verdict: 'possible', count: 5, combinations: '6', combinations_exact: true },
      ...{ largest_edition: 5, upper_bound: '5', images: 6, reasons: [] },
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
    const checkResult = await gdn('check', 'art.yaml', '--count', '3')
    expect(checkResult.stderr).toContain('art.yaml:11: "Hat/Crown" requires "Body/Dog"')
    expect(checkResult.stderr).toContain('art.yaml:9: 2 NFTs with "Hat/Crown"')
    expect(checkResult.stderr).toContain('2 with "Hat/Crown" (art.yaml:9) is more than 1 with "Body/Dog" (art.yaml:7)')
  })

  test('names every layer whose exact counts do not add up at once', async () => {
    const traits = (name: string, counts: readonly number[]) =>
      `  - name: ${name}\n    traits:\n${counts.map((n, at) => `      ${name}${at}: { file: ${'bcr'[at]}.png, count: ${n} }\n`).join('')}`
    const text = `title: "#{number}"\ndescription: x\nlayers:\n${traits('A', [4, 3, 2])}${traits('B', [1, 2])}${traits('C', [2, 4])}${traits('D', [1, 9])}`
    const { gdn } = await layers([], { 'art.yaml': text })
    const { code, stdout } = await gdn('check', 'art.yaml', '--count', '6', '--json')
    expect(code).toBe(5)
    const texts = (JSON.parse(stdout).reasons as { text: string }[]).map((one) => one.text)
    const sums = texts.filter((one) => /is (more|less) than/.test(one)).join('\n')
    expect(sums).toContain('4 with "A/A0" (art.yaml:6) + 3 with "A/A1" (art.yaml:7) = 7 is more than 6, the maximum')
    expect(sums).toContain('1 with "B/B0" (art.yaml:11) + 2 with "B/B1" (art.yaml:12) = 3 is less than 6, the minimum')
    expect(sums).toContain('9 with "D/D1" (art.yaml:20) is more than 6, the maximum for 6 NFTs from layers')
    expect(sums).not.toContain('C/')
    expect(sums.split('another contradiction: ')).toHaveLength(3)
    const { stderr } = await gdn('generate', 'art.yaml', '--count', '6', '--out', 'drop')
    for (const layer of ['A/A0', 'B/B0', 'D/D1']) expect(stderr).toContain(layer)
  })

  test('has the issues of a file or its images in the JSON of an error, like a manifest', async () => {
    const { gdn, path, write } = await layers([], { 'art.yaml': ART })
    for (const letter of 'bc') await rm(path(`${letter}.png`))
    await symlink('b.png', path('b.png'))
    expect(execFileSync('mkfifo', [path('c.png')])).toHaveLength(0)
    const images = errorOf(await gdn('check', 'art.yaml', '--count', '5', '--json'))
    expect(images).toMatchObject({ code: 'invalid_input', message: expect.stringMatching(/\(and \d more\)$/) })
    const { issues, issue_count } = images.details as { issues: { message: string }[]; issue_count: number }
    expect(issue_count).toBe(issues.length)
    const messages = issues.map(({ message }) => message)
    expect(messages).toContain('"b.png" can\'t be read: its path has too many symbolic links')
    expect(messages).toContain('"c.png" is not a file')
    await write('art.yaml', ART.replaceAll('count: ', 'count: -'))
    const counts = errorOf(await gdn('check', 'art.yaml', '--count', '5', '--json'))
    expect(counts).toMatchObject({
      ...{ code: 'invalid_config', message: expect.stringMatching(/must be at least 0 \(and \d more\)$/) },
      details: { issue_count: expect.any(Number) },
    })
    await write('art.yaml', ART.replace('Hat/Crown', 'Hat/None'))
    const rules = errorOf(await gdn('check', 'art.yaml', '--count', '5', '--json'))
    expect(rules.details).toMatchObject({ issue_count: 1 })
    const folder = errorOf(await gdn('check', '.', '--count', '5', '--json'))
    expect(folder).toMatchObject({
      message: '.: is a directory, not a file',
      hint: expect.stringContaining('art init'),
    })
  })

  test('refuses an output folder whose name is too long', async () => {
    const { gdn } = await layers([], { 'art.yaml': ART })
    const { stderr } = await gdn('generate', 'art.yaml', '--count', '5', '--out', 'x'.repeat(240))
    expect(stderr).toContain('--out: the name of the folder has more than 200 bytes')
  })

  test.skipIf(process.platform !== 'linux')('refuses an output folder where no file can be created', async () => {
    const { gdn } = await layers([], { 'art.yaml': ART })
    const result = await gdn('generate', 'art.yaml', '--count', '5', '--out', '/proc/drop', '--json')
    expect(result.code).toBe(2)
    expect(errorOf(result)).toMatchObject({
      code: 'file_error',
      message: "/proc: files can't be created in this folder",
    })
  })

  test('lists deviations from weights, and refuses them with --strict', async () => {
    const text = ART.replace('Red: { file: r.png }', 'Red: { file: r.png, weight: 97 }')
    const { gdn } = await layers([], { 'art.yaml': text })
    const accepted = await gdn('check', 'art.yaml', '--count', '5')
    expect(accepted.code).toBe(0)
    const reason = 'there are too few combinations for the weights'
    expect(accepted.stderr).toContain(`2 NFTs with "Sky/Blue" instead of 0: ${reason}\n`)
    const { deviations } = JSON.parse((await gdn('check', 'art.yaml', '--count', '5', '--json')).stdout)
    expect(deviations[0]).toMatchObject({ trait: 'Blue', reason })
    expect(accepted.stderr).toContain('possible, but the counts of 2 traits differ from their weights.')
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

  test.each([
    ['is missing', null, "art.yaml: doesn't exist"],
    ['is empty', '', 'art.yaml: the file is empty'],
    ['has only white space', '\n \n', 'art.yaml: the file is empty'],
  ])('names gdn art init if the file %s', async (_, text, message) => {
    const { gdn } = await layers([], text === null ? {} : { 'art.yaml': text })
    const { code, stderr } = await gdn('check', 'art.yaml', '--count', '5')
    expect([code, stderr]).toEqual([2, expect.stringContaining(`error: ${message}\n`)])
    expect(stderr).toContain('Create the file from a folder of layers: gdn art init <folder> > art.yaml')
  })

  test('counts NFTs from layers with and without one-of-ones', async () => {
    const ones = 'one_of_ones:\n  - { at: 1, image: b.png }\n  - { at: 2, image: b.png }\n'
    const { gdn } = await layers([], { 'art.yaml': ART + ones })
    const { stderr } = await gdn('check', 'art.yaml', '--count', '42')
    expect(stderr).toContain(
      '40 NFTs from layers (42 including the one-of-ones) are requested, but only 6 combinations are possible',
    )
  })

  test('rejects a one-of-one whose number is above the count', async () => {
    const { gdn } = await layers([], { 'art.yaml': `${ART}one_of_ones:\n  - { at: 9, image: x.png }\n` })
    const { code, stderr } = await gdn('check', 'art.yaml', '--count', '5')
    expect(code).toBe(2)
    expect(stderr).toContain('art.yaml:14:5')
  })

  test.each([
    ['is missing', (path: string) => rm(path), '"r.png" does not exist'],
    ['is no image', (path: string) => writeFile(path, 'text'), '"r.png" is not an image, but layers need PNG'],
    ['is cut off', (path: string) => writeFile(path, PNG.subarray(0, 50)), '"r.png" can\'t be decoded: it ends early'],
    [
      'has another size',
      (path: string) => sharp(PNG).resize(2, 2).png().toFile(path),
      '"r.png" has 2 × 2 pixels, but the output has 1 × 1',
    ],
  ])('check, preview and generate reject an image that %s, with the same message', async (_, spoil, message) => {
    const { gdn, path } = await layers([], { 'art.yaml': ART })
    await spoil(path('r.png'))
    for (const argv of [['check'], ['preview'], ['generate', '--threads', '1', '--out', 'drop']]) {
      const { code, stdout, stderr } = await gdn(...argv, 'art.yaml', '--count', '5')
      expect(stdout).toBe('')
      expect([argv[0], code, stderr]).toEqual([argv[0], 2, expect.stringContaining(`error: art.yaml:5:54: ${message}`)])
    }
  })

  test('checks scaled images with --fit', async () => {
    const { gdn, path } = await layers([], { 'art.yaml': ART })
    await sharp(PNG).resize(2, 2).png().toFile(path('r.png'))
    expect(await gdn('check', 'art.yaml', '--count', '5', '--fit', 'contain')).toMatchObject({ code: 0 })
  })

  test('an impossible edition stays one if an image is missing too', async () => {
    const { gdn, path } = await layers([], { 'art.yaml': ART.replace('count: 3', 'count: 1') })
    await rm(path('r.png'))
    const { code, stderr } = await gdn('check', 'art.yaml', '--count', '3')
    expect(code).toBe(5)
    expect(stderr).toContain('"r.png" does not exist')
  })

  test('says that images were not checked without sharp', () => {
    const error = new GdnError('native_missing', "sharp isn't installed", { hint: 'Install it.' })
    const message = "The images were not checked: sharp isn't installed. Install it."
    const io = { warn: () => {} }
    expect(imageWarnings({ error }, { mayThrow: true, io, others: [] })).toEqual([{ place: {}, message }])
  })

  test('reports another error of the images with its message, even if the error has no list of issues', () => {
    const error = new GdnError('invalid_input', 'the folder has no images', { place: { file: 'layers/eyes' } })
    const io = { warn: () => {} }
    expect(imageWarnings({ error }, { mayThrow: false, io, others: [] })).toEqual([
      { place: { file: 'layers/eyes' }, message: error.message },
    ])
  })

  test('warns about two traits with one image file, with both locations', async () => {
    const { gdn } = await layers([], { 'art.yaml': ART })
    for (const argv of [['check'], ['preview'], ['generate', '--threads', '1', '--out', 'drop']]) {
      const { code, stderr } = await gdn(...argv, 'art.yaml', '--count', '5')
      expect(code, stderr).toBe(0)
      expect(stderr).toContain('art.yaml:9: "Hat/Cap" has the same image as "Body/Cat" (art.yaml:7): "c.png"')
    }
  })

  test('warns about two traits whose image files are equal', async () => {
    const { gdn, path } = await layers([], { 'art.yaml': ART })
    await copyFile(path('b.png'), path('r.png'))
    for (const argv of [['check'], ['preview'], ['generate', '--threads', '1', '--out', 'drop']]) {
      const { stderr } = await gdn(...argv, 'art.yaml', '--count', '5')
      expect(stderr).toContain(
        'art.yaml:5: "Sky/Red" has the same image as "Sky/Blue" (art.yaml:5): "r.png" has the same content as "b.png"',
      )
    }
  })

  test('does not warn about equal image files of two layers, such as empty ones', async () => {
    const { gdn, path } = await layers([], { 'art.yaml': ART })
    await copyFile(path('b.png'), path('d.png'))
    expect((await gdn('check', 'art.yaml', '--count', '5')).stderr).not.toContain('equals')
  })

  test('lists all images with a problem', async () => {
    const one = 'one_of_ones:\n  - { at: 1, image: x.png }\n'
    const { gdn, path, write } = await layers([], { 'art.yaml': ART + one })
    await rm(path('d.png'))
    await write('r.png', 'text')
    const { code, stderr } = await gdn('check', 'art.yaml', '--count', '5')
    expect(code).toBe(2)
    for (const at of ['5:54: "r.png" is not', '7:42: "d.png" does', '9:44: "d.png" does', '14:5: "x.png" does']) {
      expect(stderr).toContain(`art.yaml:${at}`)
    }
    expect(JSON.parse((await gdn('check', 'art.yaml', '--count', '5', '--json')).stderr)).toMatchObject({
      error: {
        message: 'art.yaml:5:54: "r.png" is not an image, but layers need PNG, WebP or JPEG (and 3 more)',
        hint: 'Replace the file, or remove it from art.yaml.',
      },
    })
  })

  const warned = async (text: string, images: readonly string[] = []) => {
    const { gdn, write } = await layers(images, { 'art.yaml': text })
    await write('x.png', PNG)
    const outputs = []
    for (const argv of [['check'], ['preview'], ['generate', '--threads', '1', '--out', 'drop']]) {
      const { code, stderr } = await gdn(...argv, 'art.yaml', '--count', '4')
      expect(code, stderr).toBe(0)
      outputs.push(stderr)
    }
    return outputs
  }

  test('warns about a one-of-one with an attribute that is nearly the name of a layer', async () => {
    const one = 'one_of_ones:\n  - { at: 1, image: x.png, attributes: { Bdy: Whale, Power: high, Sky: none } }\n'
    for (const stderr of await warned(ART + one)) {
      expect(stderr).toContain('art.yaml:14: the attribute "Bdy" is not the name of a layer: did you mean "Body"?')
      expect(stderr).not.toMatch(/"(?:Power|Sky)" is not/)
    }
  })

  test('warns about traits and attributes that differ only in case', async () => {
    const one = 'one_of_ones:\n  - { at: 1, image: x.png, attributes: { body: Whale, Sky: blue } }\n'
    const text = ART.replace('Red: { file: r.png }', 'Red: { file: r.png }, red: { file: c.png }')
    for (const stderr of await warned(text + one)) {
      expect(stderr).toContain('art.yaml:5: the value "red" of "Sky" differs only in case from "Red"\n')
      expect(stderr).toContain('art.yaml:14: the attribute "body" differs only in case from "Body"\n')
      expect(stderr).toContain('art.yaml:14: the value "blue" of "Sky" differs only in case from "Blue"\n')
      expect(stderr).not.toContain('is not the name of a layer')
    }
  })

  test('check, generate and preview print their warnings as JSON', async () => {
    const text = ART.replace('"Tide #{number}"', 'Tide').replace('r.png', 'b.png')
    const { gdn, write } = await layers([], { 'art.yaml': text })
    const warnings = [
      { place: { file: 'art.yaml', line: 5 }, message: expect.stringContaining('"Sky/Red" has the same image as') },
      { place: { file: 'art.yaml', line: 9 }, message: expect.stringContaining('"Hat/Cap" has the same image as') },
      { place: { file: 'art.yaml', line: 9 }, message: expect.stringContaining('"Hat/Crown" has the same image as') },
      { place: { file: 'art.yaml' }, message: expect.stringContaining('the title has no {number}') },
    ]
    const generate = ['generate', '--threads', '1', '--out', 'drop']
    const run = async (...argv: string[]) => {
      const { stdout, stderr } = await gdn(...argv, 'art.yaml', '--count', '4', '-o', 'json')
      expect(stderr).toBe('')
      return JSON.parse(stdout)
    }
    expect((await run('check')).warnings).toEqual(warnings)
    expect((await run(...generate)).warnings).toEqual(expect.arrayContaining(warnings))
    const records = (await run('preview')) as { group: string; number: number | null; warning: unknown }[]
    const own = records.filter(({ group }) => group === 'warning')
    expect(own.map(({ number, warning }) => ({ number, warning }))).toEqual(
      warnings.map((warning) => ({ number: null, warning })),
    )
    await write('drop/manifest.csv', 'mine')
    expect((await run(...generate)).warnings).toContainEqual({
      place: { file: 'drop/manifest.csv' },
      message: 'was changed after it was generated: gdn kept your version',
    })
  })

  test('warns about a title without a number', async () => {
    for (const stderr of await warned(ART.replace('"Tide #{number}"', 'Tide #{number}'))) {
      expect(stderr).toContain('art.yaml: the title has no {number}, so 4 NFTs have the title "Tide".')
      expect(stderr).toContain('title: "Tide #{number}"')
    }
    for (const stderr of await warned(ART)) expect(stderr).not.toContain('has no {number}')
  })

  test('warns about images and folders of layers that it does not name', async () => {
    const text = ART.replace('- name: Sky\n', '- name: Sky\n    folder: layers/Sky\n')
    const images = ['Sky/b.png', 'Sky/r.png', 'Sky/Green.png', 'Eyes/Red.png', 'Eyes/Blue.png', 'Notes/.hidden.png']
    for (const stderr of await warned(text, images)) {
      expect(stderr).toContain('art.yaml: no layer uses layers/Sky/Green.png, layers/Eyes\n')
    }
  })

  test('generate names the same number of combinations as check, and the largest edition that it found', async () => {
    const { gdn } = await layers([], { 'art.yaml': ART })
    const checked = await gdn('check', 'art.yaml', '--count', '40', '--json')
    const { combinations, reasons } = JSON.parse(checked.stdout) as {
      combinations: string
      reasons: { text: string }[]
    }
    const text = `40 NFTs from layers are requested, but only ${combinations} combinations are possible`
    expect(reasons.at(-1)?.text).toContain(text)
    const { code, stderr } = await gdn('generate', 'art.yaml', '--count', '40', '--out', 'drop')
    expect(code).toBe(5)
    expect(stderr).toContain(text)
    expect(stderr).toMatch(/^ {2}Try --count 5\.$/m)
  })
})
