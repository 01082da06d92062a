import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ALICE, BOB, read, told } from './helpers.ts'

const HEAD = 'title,description,receiver'
const GOOD = `Dawn,First,${ALICE}`
const WHITE = ['stdin:2:3 (receiver) receiver is not an EVM address (0x and 40 hex digits)']
const flipped = ALICE.replace('fB', 'FB')

/** Name, manifest, and every issue with its location. */
const CASES: [string, string | Uint8Array, string[]][] = [
  ['nothing', '', ['stdin is empty']],
  ['white space', ' \n\t\n', ['stdin is empty']],
  ['a BOM and nothing', '\ufeff', ['stdin is empty']],
  ['a header only', `${HEAD}\n`, ['stdin has no rows']],
  ['a header without a line end', HEAD, ['stdin has no rows']],
  ['blank rows only', `${HEAD}\n\n,,\n`, ['stdin has no rows']],

  ['an unknown column', `${HEAD},descripton\n${GOOD},x\n`, ['stdin:1:4 unknown column "descripton"']],
  ['a title by two names', `${HEAD},Name\n${GOOD},x\n`, ['stdin:1:4 the columns "title" and "Name" both mean title']],
  [
    'a receiver by two common names',
    `title,description,Wallet,Owner\n${GOOD},x\n`,
    ['stdin:1:4 the columns "Wallet" and "Owner" both mean receiver'],
  ],
  ['a column twice', `${HEAD},title\n${GOOD},x\n`, ['stdin:1:4 the column "title" is repeated']],
  [
    'image twice in two spellings',
    `${HEAD},image,file:image\n${GOOD},,\n`,
    ['stdin:1:5 the columns "image" and "file:image" both mean image'],
  ],
  [
    'a file and an extra key of one name',
    `${HEAD},file:a,extra:a\n${GOOD},,\n`,
    ['stdin:1:5 the columns "file:a" and "extra:a" define the same metadata key'],
  ],
  [
    'a cell in a column without a name at the end, once for each column',
    `${HEAD},,\n${GOOD},,\n${GOOD},x,\n${GOOD},y,z\n${GOOD}, , \n${GOOD}\n`,
    [
      'stdin:3:4 has a cell in column D, which has no name in the header',
      'stdin:4:5 has a cell in column E, which has no name in the header',
    ],
  ],
  ['a column without a name before others', `title,,description,receiver\n`, ['stdin:1:2 a column has no name']],
  [
    'a zero-width space in a column name',
    `${HEAD},ti\u200btle\n${GOOD},x\n`,
    ['stdin:1:4 the column name "ti<U+200B>tle" has an invisible character, U+200B'],
  ],
  [
    'a no-break space in a column name',
    `${HEAD},image\u00a0\n${GOOD},x\n`,
    ['stdin:1:4 the column name "image<U+00A0>" has an invisible character, U+00A0'],
  ],
  [
    'a second BOM',
    `\ufeff\ufeff${HEAD}\n${GOOD}\n`,
    [
      'stdin:1:1 the column name "<U+FEFF>title" has an invisible character, U+FEFF',
      'stdin:1 the column "title" is missing',
    ],
  ],
  [
    'no title, description, receiver',
    'image\nx\n',
    [
      'stdin:1 the column "title" is missing',
      'stdin:1 the column "description" is missing',
      'stdin:1 the column "receiver" is missing',
      `stdin:2:1 (image) image doesn't exist: ${resolve('x')}`,
    ],
  ],
  [
    'no receiver, and rows with other problems',
    'title,description,image\nDawn,x,\n,x,\nDusk,x,none.png\n',
    [
      'stdin:1 the column "receiver" is missing',
      'stdin:3:1 (title) title is required',
      `stdin:4:3 (image) image doesn't exist: ${resolve('none.png')}`,
    ],
  ],
  [
    'a file column without a key',
    `${HEAD},file:\n${GOOD},x\n`,
    ['stdin:1:4 the column "file:" needs a name after the colon'],
  ],
  [
    'a file key that the metadata uses',
    `${HEAD},file:name\n${GOOD},x\n`,
    ['stdin:1:4 the key of the column "file:name" is a reserved key of the metadata file: choose another'],
  ],
  [
    'an extra key that the metadata uses',
    `${HEAD},extra:image\n${GOOD},x\n`,
    ['stdin:1:4 the key of the column "extra:image" is a reserved key of the metadata file: choose another'],
  ],
  [
    'an extra key that every NFT has',
    `${HEAD},extra:title\n${GOOD},x\n`,
    ['stdin:1:4 the key of the column "extra:title" is part of every NFT, so it can\'t be an extra key'],
  ],
  [
    '__proto__ as a key',
    `${HEAD},extra:__proto__,file:__proto__\n${GOOD},x,y\n`,
    [
      'stdin:1:4 the key of the column "extra:__proto__" is not allowed as a key',
      'stdin:1:5 the key of the column "file:__proto__" is not allowed as a key',
    ],
  ],
  [
    'a prototype key',
    `${HEAD},extra:constructor\n${GOOD},x\n`,
    ['stdin:1:4 the key of the column "extra:constructor" is not allowed as a key'],
  ],
  [
    'a very long key',
    `${HEAD},attr:${'k'.repeat(129)}\n${GOOD},x\n`,
    [`stdin:1:4 the key of the column "attr:${'k'.repeat(129)}" must have at most 128 characters`],
  ],
  [
    'nine file columns',
    `${HEAD},${Array.from({ length: 9 }, (_, i) => `file:f${i}`).join(',')}\n`,
    ['stdin:1:12 has 9 file columns, but an NFT has at most 8'],
  ],
  [
    'a header whose quote is never closed',
    `${HEAD},"image\n${GOOD}\n`,
    ['stdin:1 the quote that opens here is never closed'],
  ],

  ['a row that is too short', `${HEAD}\nDawn,First\n${GOOD}\n`, ['stdin:2:2 has 2 cells, but the header has 3']],
  [
    'a row that is too long',
    `${HEAD}\n${GOOD}\nDawn,First,${ALICE},x,y\n`,
    ['stdin:3:4 has 5 cells, but the header has 3'],
  ],
  ['a row of one cell', `${HEAD}\nDawn\n`, ['stdin:2:1 has 1 cell, but the header has 3']],
  [
    'an unclosed quote',
    `${HEAD}\n${GOOD}\nDusk,"Second,${BOB}\nNoon,Third,${ALICE}\n`,
    ['stdin:3:2 the quote that opens here is never closed'],
  ],
  [
    'an unclosed quote after a cell of several lines',
    `${HEAD}\n"Da\nwn",First,"${ALICE}\n`,
    ['stdin:2:3 the quote that opens here is never closed'],
  ],
  [
    'a quote inside a quoted cell',
    `${HEAD}\nDawn,"The "first" one",${ALICE}\n${GOOD}\n`,
    ['stdin:2:2 a quoted cell has text after its closing quote'],
  ],
  [
    'a CRLF row in a file of LF',
    `${HEAD}\n${GOOD}\r\n${GOOD}\n`,
    ['stdin:2 has a different line ending than the header'],
  ],
  [
    'an LF row in a file of CRLF',
    `${HEAD}\r\n${GOOD}\n${GOOD}\r\n`,
    ['stdin:2 has a different line ending than the header'],
  ],
  ['a lone CR in a file of LF', `${HEAD}\n${GOOD}\r${GOOD}\n`, ['stdin:2 has a different line ending than the header']],

  ['an empty title', `${HEAD}\n,First,${ALICE}\n`, ['stdin:2:1 (title) title is required']],
  ['an empty description', `${HEAD}\nDawn,,${ALICE}\n`, ['stdin:2:2 (description) description is required']],
  ['an empty receiver', `${HEAD}\nDawn,First,\n`, ['stdin:2 (receiver) receiver is required']],
  [
    'three problems in one row',
    `${HEAD},image\n,First,0x12,ftp://x\n`,
    [
      'stdin:2:1 (title) title is required',
      'stdin:2:4 (image) image must be an http(s), ipfs or ar URL',
      'stdin:2:3 (receiver) receiver must have 40 hex digits after 0x, but has 2',
    ],
  ],
  [
    'a wrong checksum',
    `${HEAD}\nDawn,First,${flipped}\n`,
    [
      'stdin:2:3 (receiver) receiver has a wrong checksum (EIP-55): a letter or digit was changed, so copy the address again',
    ],
  ],
  [
    'an address of 39 digits',
    `${HEAD}\nDawn,First,${ALICE.slice(0, -1)}\n`,
    ['stdin:2:3 (receiver) receiver must have 40 hex digits after 0x, but has 39'],
  ],
  [
    '0X before an address',
    `${HEAD}\nDawn,First,${ALICE.replace('0x', '0X')}\n`,
    ['stdin:2:3 (receiver) receiver must begin with 0x, not 0X'],
  ],
  [
    'the zero address',
    `${HEAD}\nDawn,First,0x${'0'.repeat(40)}\n`,
    ['stdin:2:3 (receiver) receiver is the zero address, which has no owner'],
  ],
  [
    'an address that a spreadsheet made a number',
    `${HEAD}\nDawn,First,1.15E+47\n`,
    ['stdin:2:3 (receiver) receiver is a number, not an address: a spreadsheet seems to have changed it'],
  ],
  [
    'a Solana address',
    `${HEAD}\nDawn,First,4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T\n`,
    ['stdin:2:3 (receiver) receiver is not an EVM address (0x and 40 hex digits)'],
  ],
  ['white space in an address', `${HEAD}\nDawn,First,${ALICE.slice(0, 20)} ${ALICE.slice(20)}\n`, WHITE],
  [
    'a wrong address under a common name',
    `Name,Description,Wallet\nDawn,First,0x12\n`,
    ['stdin:2:3 (Wallet) receiver must have 40 hex digits after 0x, but has 2'],
  ],
  [
    'bytes that are not UTF-8 behind a cell of several lines',
    Buffer.concat([Buffer.from(`${HEAD}\n"Da\nwn",First,${ALICE}\nDusk,`), Buffer.from([0xe4]), Buffer.from('x\n')]),
    [`stdin:3 is not UTF-8: invalid byte 0xE4 (byte ${HEAD.length + ALICE.length + 22})`],
  ],
  [
    'a bad sender',
    `${HEAD},sender\n${GOOD},me\n`,
    ['stdin:2:4 (sender) sender is not an EVM address (0x and 40 hex digits)'],
  ],
  [
    'a URL of another scheme',
    `${HEAD},file:a\n${GOOD},file:///etc/passwd\n`,
    ['stdin:2:4 (file:a) file:a must be an http(s), ipfs or ar URL'],
  ],
  [
    'a data: URL',
    `${HEAD},image\n${GOOD},data:image/png;base64\n`,
    ['stdin:2:4 (image) image must be an http(s), ipfs or ar URL'],
  ],
  [
    'a URL with a password',
    `${HEAD},image\n${GOOD},https://me:x@example.com/a\n`,
    ['stdin:2:4 (image) image has a user name or password, which would become public'],
  ],
  [
    'a URL with white space',
    `${HEAD},image\n${GOOD},https://example.com/a b\n`,
    ['stdin:2:4 (image) image has whitespace or a backslash, which must be encoded'],
  ],
  [
    'a very long URL after a good one of the same host',
    `${HEAD},image\n${GOOD},https://example.com/a\n${GOOD},https://example.com/${'a'.repeat(2048)}\n`,
    ['stdin:3:4 (image) image is longer than 2048 characters'],
  ],
  [
    'an ipfs URL without a CID',
    `${HEAD},image\n${GOOD},ipfs://nothing\n`,
    ['stdin:2:4 (image) image is not an ipfs URL: ipfs:// must be followed by a CID'],
  ],
  [
    'a local file that does not exist',
    `${HEAD},image\n${GOOD},/no/such.png\n`,
    ["stdin:2:4 (image) image doesn't exist: /no/such.png"],
  ],
  ['a local file that is a directory', `${HEAD},image\n${GOOD},/\n`, ['stdin:2:4 (image) image is a directory: /']],
  [
    'too many metadata items',
    `${HEAD},${Array.from({ length: 9 }, (_, i) => `extra:e${i}`).join(',')}\n${GOOD}${',x'.repeat(9)}\n`,
    ['stdin:2 the row has 11 metadata items, but at most 10 are allowed'],
  ],
  [
    'too many metadata items beside attributes, which do not count',
    `${HEAD},attr:a,attr:b,${Array.from({ length: 9 }, (_, i) => `extra:e${i}`).join(',')}\n${GOOD}${',x'.repeat(10)},\n${GOOD}${',x'.repeat(11)}\n`,
    ['stdin:3 the row has 11 metadata items, but at most 10 are allowed'],
  ],
  [
    'the same id twice',
    `${HEAD},id\n${GOOD},a\n${GOOD},b\n\n${GOOD},a\n`,
    ['stdin:5:4 (id) id "a" is already used on line 2'],
  ],
  [
    'an id that a spreadsheet shortened',
    `${HEAD},id\n${GOOD},1.23457E+11\n${GOOD},00123\n${GOOD},123\n${GOOD},1E5\n`,
    ['stdin:2:4 (id) id "1.23457E+11" is a number that a spreadsheet shortened, so its last digits are lost'],
  ],
  [
    'an unknown column and problems of rows',
    `title,nots,description,receiver,image\nDawn,x,First,0x12,/no/such.png\n,y,First,${ALICE},\n`,
    [
      'stdin:1:2 unknown column "nots"',
      'stdin:2:4 (receiver) receiver must have 40 hex digits after 0x, but has 2',
      "stdin:2:5 (image) image doesn't exist: /no/such.png",
      'stdin:3:1 (title) title is required',
    ],
  ],
  [
    'a column twice and problems of rows',
    `${HEAD},title\nDawn,First,0x12,x\n`,
    [
      'stdin:1:4 the column "title" is repeated',
      'stdin:2:3 (receiver) receiver must have 40 hex digits after 0x, but has 2',
    ],
  ],
  [
    'a very long id',
    `${HEAD},id\n${GOOD},${'i'.repeat(201)}\n`,
    ['stdin:2:4 (id) id must have at most 200 characters'],
  ],
  [
    'an unknown blockchain',
    `${HEAD},blockchain\n${GOOD},polygn\n`,
    ['stdin:2:4 (blockchain) unknown blockchain "polygn"'],
  ],
  [
    'another blockchain than the flag',
    `${HEAD},blockchain\n${GOOD},astar\n`,
    ['stdin:2:4 (blockchain) blockchain is astar, but the run is for polygon'],
  ],
  [
    'two collections',
    `${HEAD},contract_address\n${GOOD},${ALICE}\n${GOOD},${BOB}\n`,
    [`stdin:3:4 (contract_address) contract_address is ${BOB}, but the run is for ${ALICE}`],
  ],
  [
    'a contract that is not an address',
    `${HEAD},contract_address\n${GOOD},mine\n`,
    ['stdin:2:4 (contract_address) contract_address is not an EVM address (0x and 40 hex digits)'],
  ],

  [
    'UTF-16 with a BOM',
    Buffer.from(`\ufeff${HEAD}\n${GOOD}\n`, 'utf16le'),
    ['stdin:1 is UTF-16 text, but a manifest must be UTF-8'],
  ],
  [
    'UTF-16 big-endian with a BOM',
    Buffer.from(`\ufeff${HEAD}\n`, 'utf16le').swap16(),
    ['stdin:1 is UTF-16 text, but a manifest must be UTF-8'],
  ],
  [
    'UTF-16 without a BOM',
    Buffer.from(`${HEAD}\n${GOOD}\n`, 'utf16le'),
    ['stdin:1 is UTF-16 text, but a manifest must be UTF-8'],
  ],
  [
    'a workbook',
    Buffer.from('PK\u0003\u0004\u0014\0\u0006\0'),
    ['stdin:1 is a workbook (or another ZIP file), but a manifest must be text'],
  ],
  [
    'the results of a run',
    `${HEAD},key,line,status,nft_gdn_id,receiver_wallet_address\n${GOOD},k,2,deployed,id,${ALICE}\n`,
    ['stdin:1 has the columns of run results'],
  ],
  [
    'a list of NFTs',
    `token_id,status,${HEAD},nft_gdn_id\n1,deployed,${GOOD},id\n`,
    ['stdin:1 has the columns of a list of NFTs: token_id, status, nft_gdn_id'],
  ],
  [
    'Latin-1',
    Buffer.from(`${HEAD}\nD\u00e4mmerung,First,${ALICE}\n`, 'latin1'),
    [`stdin:2 is not UTF-8: invalid byte 0xE4 (byte ${HEAD.length + 3})`],
  ],
  [
    'a character cut off at the end',
    Buffer.concat([Buffer.from(`${HEAD}\n${GOOD}\nx`), Buffer.from([0xf0, 0x9f])]),
    [`stdin:3 is not UTF-8: invalid byte 0xF0 (byte ${HEAD.length + GOOD.length + 4})`],
  ],
  [
    'a NUL',
    `${HEAD}\n${GOOD}\nDa\0wn,First,${ALICE}\n`,
    [`stdin:3 has a NUL character (byte ${HEAD.length + GOOD.length + 5})`],
  ],
  [
    'a picture',
    Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
    ['stdin:1 is not UTF-8: invalid byte 0x89 (byte 1)'],
  ],
]

describe('reports the location of problems in a CSV manifest:', () => {
  test.each(CASES)('%s', async (_name, content, expected) => {
    const whole = await read(content, { format: 'csv', size: 1 << 20 })
    expect(whole.issues.map(told)).toEqual(expected)
    for (const issue of whole.issues) expect(issue.place.file).toBe('stdin')
  })

  test.each(CASES)('%s, read in small chunks', async (_name, content, expected) => {
    expect((await read(content, { format: 'csv', size: 3 })).issues.map(told)).toEqual(expected)
  })
})

describe('rows next to a bad one', () => {
  test('are still read', async () => {
    const { rows, issues } = await read(`${HEAD}\n${GOOD}\nDawn,First\n${GOOD}\n`)
    expect(rows.map(({ line }) => line)).toEqual([2, 4])
    expect(issues).toHaveLength(1)
  })
})

describe('limits', () => {
  test('stops reading an endless cell at 4 million characters', async () => {
    let chunks = 0
    async function* endless() {
      yield Buffer.from(`${HEAD}\n${GOOD}\nDusk,"`)
      for (; chunks < 2000; chunks++) yield Buffer.alloc(64 * 1024, 'x')
    }
    const { readManifest } = await import('../../src/manifest/read.ts')
    const issues: string[] = []
    const options = { blockchain: 'polygon', localFiles: true } as const
    for await (const item of readManifest({ stdin: endless(), format: 'csv' }, options)) {
      if ('issue' in item) issues.push(told(item.issue))
    }
    expect(issues).toEqual(['stdin:3:2 the row is longer than 4 million characters'])
    // 4 million of the 131 million characters.
    expect(chunks).toBeLessThan(100)
  })

  test('reads a long cell in small chunks in linear time', async () => {
    const start = process.cpuUsage()
    const { rows } = await read(`${HEAD}\nDusk,"${'x'.repeat(3_900_000)}",${ALICE}\n`, { size: 512 })
    expect(rows).toHaveLength(1)
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(5000)
  })

  test('rejects senders on Solana, which has no transfers', async () => {
    const key = '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T'
    const { issues } = await read(`${HEAD},sender\nDawn,First,${key},${key}\n`, { blockchain: 'solana' })
    expect(issues.map(told)).toEqual(["stdin:2:4 (sender) sender can't be used: transfers are unsupported on solana"])
  })

  test('reports a number in place of an address as spreadsheet damage, on Solana too', async () => {
    const { issues } = await read(`${HEAD}\nDawn,First,1.15E+47\n`, { blockchain: 'solana' })
    expect(issues.map(told)).toEqual([
      'stdin:2:3 (receiver) receiver is a number, not an address: a spreadsheet seems to have changed it',
    ])
  })

  test('rejects a local file if the server accepts no uploads', async () => {
    const { issues } = await read(`${HEAD},image\n${GOOD},a.png\n`, { localFiles: false })
    expect(issues.map(told)).toEqual([
      'stdin:2:4 (image) image is a local file, but this server accepts no uploads: a.png',
    ])
  })

  test('requires a blockchain in a flag or column', async () => {
    const { issues } = await read(`${HEAD}\n${GOOD}\n`, { blockchain: null })
    expect(issues.map(told)).toEqual(['stdin:2 (blockchain) blockchain is required'])
  })
})

test.each([
  ['descripton', 'description'],
  ['imgae', 'image'],
  ['atr:', 'attr:'],
  ['atr:hour', 'attr:hour'],
  ['flie:animation_url', 'file:animation_url'],
  ['attribute:habitat', 'attr:habitat'],
])('the hint about the unknown column %s suggests %s', async (name, suggestion) => {
  const { issues } = await read(`${HEAD},${name}\n${GOOD},x\n`)
  expect(issues[0]?.hint).toContain(`Did you mean "${suggestion}"?`)
})

test('the hint about a mistyped prefix maps the column to what was meant', async () => {
  const { issues } = await read(`${HEAD},atr:hour\n${GOOD},x\n`)
  expect(issues[0]?.hint).toBe('Did you mean "attr:hour"? Rename the column, or add --map atr:hour=attr:hour.')
})

test.each([['background_color'], ['Background Color'], ['external_url'], ['youtube_url']])(
  'the hint about the unknown column %s names the column with extra:',
  async (name) => {
    const key = name.toLowerCase().replace(' ', '_')
    const { issues } = await read(`${HEAD},${name}\n${GOOD},x\n`)
    expect(issues[0]?.hint).toContain(`rename the column to extra:${key}, or add --map`)
    expect(issues[0]?.hint).not.toContain('attr')
  },
)

test('names the flags that make an unknown column an attribute in its hint', async () => {
  const { issues } = await read(`${HEAD},email,Fur Color's\n${GOOD},x,y\n`)
  expect(issues.map(({ hint }) => hint)).toEqual([
    'To ignore the column, add --map email=ignore. To make the column a public attribute, add --map email=attr:email, or --unknown-columns attr for all unknown columns.',
    `To ignore the column, add --map 'Fur Color'\\''s=ignore'. To make the column a public attribute, add --map 'Fur Color'\\''s=attr:Fur Color'\\''s', or --unknown-columns attr for all unknown columns. To set this for every command, save \`map\` or \`unknown_columns\` in gdn.config.json in the current folder.`,
  ])
})
