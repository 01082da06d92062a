import { describe, expect, test } from 'vitest'
import { contentHash } from '../../src/batch/rows/row-text.ts'
import type { ColumnMapping } from '../../src/manifest/columns.ts'
import type { ManifestOptions } from '../../src/manifest/read.ts'
import { ALICE, BOB, read, told } from './helpers.ts'

const PLAIN = `title,description,receiver,image,attr:Mood\nDawn,First,${ALICE},https://a.test/1.png,calm\n`

/** The reported mappings, and the result. */
async function mappedOf(content: string, options: Partial<ManifestOptions> = {}) {
  const mapped: ColumnMapping[] = []
  const result = await read(content, { ...options, onMapped: (found) => mapped.push(...found) })
  return { ...result, mapped: Object.fromEntries(mapped) }
}

describe('reads a column by its name', () => {
  test.each([
    ['TITLE', 'title'],
    ['Name', 'title'],
    ['NFT Name', 'title'],
    ['Desc', 'description'],
    ['Wallet', 'receiver'],
    ['wallet-address', 'receiver'],
    ['Address', 'receiver'],
    ['Owner', 'receiver'],
    ['To', 'receiver'],
    ['receiver_wallet_address', 'receiver'],
    ['From', 'sender'],
    ['Chain', 'blockchain'],
    ['Contract', 'contract_address'],
    ['ID', 'id'],
    ['Picture', 'image'],
    ['File', 'image'],
    ['Image URL', 'image'],
    ['ATTR:Hour', 'attr:Hour'],
    ['Extra:artist', 'extra:artist'],
    ['File:animation', 'file:animation'],
  ])('%s as %s, and reports the mapping', async (name, meaning) => {
    const cells: Record<string, string> = {
      title: 'Dawn',
      description: 'First',
      receiver: ALICE,
      sender: BOB,
      blockchain: 'polygon',
      contract_address: BOB,
      id: 'one',
      image: 'https://a.test/1.png',
      'file:animation': 'https://a.test/1.mp4',
    }
    const columns = [...new Set(['title', 'description', 'receiver', meaning])]
    const row = columns.map((column) => cells[column] ?? 'x').join(',')
    const canonical = await read(`${columns.join(',')}\n${row}\n`)
    const renamed = columns.map((column) => (column === meaning ? name : column)).join(',')
    const { rows, issues, mapped } = await mappedOf(`${renamed}\n${row}\n`)
    expect(issues).toEqual([])
    expect(rows).toEqual(canonical.rows)
    expect(mapped).toEqual({ [name]: meaning })
  })

  test('in JSON rows too, but not in metadata objects', async () => {
    const rows = [{ Name: 'Dawn', Description: 'First', Wallet: ALICE }]
    const { rows: found, mapped } = await mappedOf(JSON.stringify(rows))
    expect(found[0]).toMatchObject({ receiver: ALICE, metadata: { title: 'Dawn', description: 'First' } })
    expect(mapped).toEqual({ Name: 'title', Description: 'description', Wallet: 'receiver' })
    const metadata = [{ title: 'Dawn', description: 'First', file_fields: [], Artist: ' Mo ' }]
    const { rows: whole } = await mappedOf(JSON.stringify(metadata), { receiver: ALICE })
    expect(whole[0]?.metadata.Artist).toBe(' Mo ')
  })

  test('with a delimiter that only common names reveal', async () => {
    const { rows } = await read(`Name;Desc;Wallet\nDawn;a,b,c;${ALICE}\n`)
    expect(rows[0]?.metadata.description).toBe('a,b,c')
  })
})

describe('columnMap', () => {
  test.each([
    ['Größe'.normalize('NFD'), 'Größe'],
    ['Größe', 'größe'.normalize('NFD')],
  ])('reads the column %j by the name %j, whose accents have other code points', async (inFile, inMap) => {
    const content = `${inFile},description,receiver\nDawn,First,${ALICE}\n`
    for (const map of ['columnMap', 'defaultMap']) {
      const { rows } = await read(content, { [map]: [[inMap, 'title']] })
      expect(rows).toMatchObject([{ metadata: { title: 'Dawn' } }])
    }
  })

  test('overrides the meaning of a column name', async () => {
    const text = `title,description,Wallet,Owner,Background\nDawn,First,${ALICE},Mo,red\n`
    const { rows, issues, mapped } = await mappedOf(text, {
      columnMap: [
        ['Owner', 'extra:artist'],
        ['background', 'attr:Background'],
      ],
    })
    expect(issues).toEqual([])
    expect(rows[0]).toMatchObject({
      receiver: ALICE,
      metadata: { artist: 'Mo', attribute: [{ tag: 'Background', value: 'red' }] },
    })
    expect(mapped).toEqual({ Wallet: 'receiver', Owner: 'extra:artist', Background: 'attr:Background' })
  })

  test('rejects a column that does not exist', async () => {
    const { issues } = await read(PLAIN, { columnMap: [['Backgruond', 'attr:Background']] })
    expect(issues.map(told)).toEqual(['stdin:1 the column "Backgruond" in --map is not in the header'])
    const near = await read(`Titel,${PLAIN}`, { columnMap: [['Titl', 'title']] })
    expect(near.issues.map(told)).toContain('stdin:1 the column "Titl" in --map is not in the header')
    expect(near.issues.find(({ message }) => message.includes('in --map'))?.hint).toBe('Did you mean "Titel"?')
  })
})

describe('unknown columns', () => {
  test('are compared with common names of columns too, unless these are short', async () => {
    const hintsOf = async (name: string) => (await read(`${name},x\n`)).issues.map(({ hint }) => hint ?? '')
    expect((await hintsOf('nam'))[0]).toContain('Did you mean "name"?')
    expect((await hintsOf('Walet'))[0]).toContain('Did you mean "wallet"?')
    expect((await hintsOf('no'))[0]).not.toContain('Did you mean')
  })

  test.each([
    ['trait:Level', 'attr:Level'],
    ['Traits:Level', 'attr:Level'],
    ['attribute:Level', 'attr:Level'],
  ])('with another word before the colon, %s, are meant as %s', async (name, suggestion) => {
    const { issues } = await read(`title,description,receiver,${name}\nDawn,First,${ALICE},3\n`)
    expect(issues[0]?.hint).toBe(`Did you mean "${suggestion}"? Rename the column, or add --map ${name}=${suggestion}.`)
  })

  const TEXT = `title,description,receiver,Mood,Fur Color\nDawn,First,${ALICE},calm,red\n`

  test('become attributes or extra keys on request, and are reported', async () => {
    const attr = await mappedOf(TEXT, { unknownColumns: 'attr' })
    expect(attr.rows[0]?.metadata.attribute).toEqual([
      { tag: 'Mood', value: 'calm' },
      { tag: 'Fur Color', value: 'red' },
    ])
    expect(attr.mapped).toEqual({ Mood: 'attr:Mood', 'Fur Color': 'attr:Fur Color' })
    const extra = await mappedOf(TEXT, { unknownColumns: 'extra' })
    expect(extra.rows[0]?.metadata).toMatchObject({ Mood: 'calm', 'Fur Color': 'red' })
  })
})

describe('the content key of a row', () => {
  const hashes = async (text: string, options: Partial<ManifestOptions> = {}) => {
    const { rows, issues } = await read(text, options)
    expect(issues).toEqual([])
    return rows.map(contentHash)
  }

  test('does not change with flags that repeat the meaning of names', async () => {
    const columnMap: ColumnMapping[] = [
      ['title', 'title'],
      ['attr:Mood', 'attr:Mood'],
    ]
    expect(await hashes(PLAIN, { columnMap, unknownColumns: 'attr' })).toEqual(await hashes(PLAIN))
    expect(await hashes(PLAIN, { unknownColumns: 'extra' })).toEqual(await hashes(PLAIN))
  })

  test('does not change with names, surrounding white space and blank rows', async () => {
    const other = `Name,Desc,Wallet,Picture,ATTR:Mood\n , ,,,\n Dawn ,"First\n", ${ALICE}\t,\u00a0https://a.test/1.png,calm\n`
    expect(await hashes(other)).toEqual(await hashes(PLAIN))
    const json = [
      { Name: 'Dawn ', Desc: 'First', Wallet: ALICE, Picture: 'https://a.test/1.png', 'attr:Mood': ' calm' },
    ]
    expect(await hashes(JSON.stringify(json))).toEqual(await hashes(PLAIN))
  })
})
