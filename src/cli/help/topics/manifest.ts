import { MAX_FILE_FIELDS, MAX_METADATA_ITEMS } from '../../../api/metadata.ts'
import { COLUMN_NAMES } from '../../../manifest/columns.ts'
import type { Topic } from '../topic.ts'

const COLUMNS: Readonly<Record<(typeof COLUMN_NAMES)[number], readonly [shown: string, text: string]>> = {
  title: ['title', 'Title of the NFT; needed'],
  description: ['description', 'Its description; needed'],
  receiver: ['receiver', 'Its owner; or --receiver for all rows'],
  sender: ['sender', 'Its first owner, who passes it on to the receiver; or --sender for all rows'],
  id: ['id', 'Names the row for good; without it, a row is known by its content'],
  contract_address: ['contract_address', 'Instead of --contract; the same in every row'],
  blockchain: ['blockchain', 'Instead of --blockchain; the same in every row'],
  image: ['image', 'Its picture: a URL (https:, ipfs:, ar:), or a path beside the manifest'],
  'file:': ['file:<key>', 'Another file, under that key of the metadata: a URL or a path'],
  'attr:': ['attr:<tag>', 'An attribute, as marketplaces show them'],
  'extra:': ['extra:<key>', 'An extra key of the metadata'],
}

export const manifest: Topic = {
  about:
    'A manifest is a drop: a row for each NFT. CSV with a header (commas, semicolons or tabs), a JSON list of objects, or JSONL. - reads it from standard input.',
  examples: [
    ['Begin with one that has every kind of column', 'gdn batch template > drop.csv'],
    ['Check it; nothing is sent', 'gdn batch validate drop.csv'],
    ['Mint it', 'gdn batch mint drop.csv -c 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon'],
  ],
  sections: [
    { title: 'Columns', rows: COLUMN_NAMES.map((name) => COLUMNS[name]) },
    {
      title: 'Rules',
      text: `An NFT has at most ${MAX_FILE_FIELDS} files, and at most ${MAX_METADATA_ITEMS} items of metadata: title, description, files, extra keys, and all attributes as one.
Names of columns match in any case, and common names match too: Name is title, Wallet, Address, Owner and To are receiver, Picture and File are image. gdn prints each column that it read as another. Two columns with one meaning are an error.
Metadata is public for ever, so any other column is an error. --map Mood=attr:Mood gives a column its meaning. --unknown-columns attr reads all unknown columns as attributes, --unknown-columns extra as extra keys. Give the same flags whenever you run the command again.
White space around a cell is removed, and an empty cell is absent. Metadata objects with file_fields are taken as they are.
Local files are uploaded first, each content once. Paths begin at the folder of the manifest. What is outside of it and of the folder that gdn runs in, or hidden, is refused, links followed: it would be published.
Every row is checked before anything is sent; an error names its line and column. In CSV the line is the row number that a spreadsheet shows: the header is line 1, and a cell of several lines counts once.`,
    },
    {
      title: 'The same command again',
      text: 'What is sent is written down first. gdn batch mint with the same manifest goes on where it stopped; gdn batch results shows what became of each row.',
    },
  ],
}
