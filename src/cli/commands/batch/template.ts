import { type Blockchain, isEvm } from '../../../api/blockchains.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import {
  addCommonFlags,
  addressOrName,
  addStateDirFlag,
  blockchainName,
  type CommonFlags,
  oneOf,
} from '../../flags/common.ts'
import { addEnsFlags, type EnsFlags } from '../../flags/ens.ts'
import { csvLine } from '../../render/view.ts'
import { resolveEnsFields } from '../../request/ens-names.ts'

const FORMATS = ['csv', 'json', 'jsonl'] as const
type Format = (typeof FORMATS)[number]

export interface TemplateFlags extends CommonFlags, EnsFlags {
  format?: Format
  blockchain?: Blockchain
  receiver?: string
}

export function command(deps: Deps, run = template): GdnCommand {
  return new GdnCommand({
    about:
      'The sample has two rows with the most common columns. Only title, description and receiver are required. The column image contains a URL, or a path relative to the manifest. The column id identifies a row permanently. A column attr:<tag> sets an attribute, and a column extra:<key> sets an extra metadata key. Manifests can also have the columns sender, contract_address, and file:<key> for other files. Replace the receivers and images before you mint, because rows with the sample images fail.',
    examples: [
      ['Write a CSV file for a spreadsheet or an editor', 'gdn batch template > drop.csv'],
      ['Use your wallet as the receiver', 'gdn batch template --receiver @alice > drop.csv'],
      ['Validate the template', 'gdn batch template | gdn batch validate -'],
      ['Write JSON Lines for Solana', 'gdn batch template --format jsonl -b solana > drop.jsonl'],
    ],
  })
    .valueFlag('--format <name>', `Format: ${FORMATS.join(', ')} (csv)`, oneOf(FORMATS))
    .valueFlag(
      '-b, --blockchain <name>',
      'Blockchain of the collection (the configured one, or polygon)',
      blockchainName,
    )
    .valueFlag('--receiver <address>', 'Receiver of the NFTs', addressOrName)
    .with(addEnsFlags, addStateDirFlag, addCommonFlags)
    .action(async (flags: TemplateFlags) => await run(deps, flags))
}

// The EVM addresses are examples from EIP-55. The Solana addresses are the System Program and a sysvar.
const EXAMPLE_ADDRESSES = {
  evm: ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'],
  solana: ['11111111111111111111111111111111', 'SysvarRent111111111111111111111111111111111'],
} as const

export async function template(deps: Deps, flags: TemplateFlags) {
  const { io } = deps
  const { format = 'csv' } = flags
  const settings = await deps.settings(flags)
  const blockchain = settings.blockchain?.value ?? 'polygon'
  const place = { flag: '--receiver' }
  const { receiver } = await resolveEnsFields(
    deps,
    { settings, flags, blockchain },
    { receiver: flags.receiver },
    () => place,
  )
  const examples = EXAMPLE_ADDRESSES[isEvm(blockchain) ? 'evm' : 'solana']
  const rows = [
    {
      id: 'tide-01',
      title: 'Low Moon',
      description: 'The moon stands over still water, and nothing is awake to see it.',
      image: 'https://example.com/low-moon.png',
      receiver: receiver ?? examples[0],
      blockchain,
      'attr:hour': '00:00',
      'attr:mood': 'calm',
      'extra:artist': 'E. Tide',
    },
    {
      id: 'tide-02',
      title: 'Undertow',
      description: 'The strong current under a calm surface, as "seen" from below.',
      image: 'https://example.com/undertow.png',
      receiver: receiver ?? examples[1],
      blockchain,
      'attr:hour': '01:00',
      'attr:mood': 'restless',
      'extra:artist': 'E. Tide',
    },
  ]
  await io.data(FORMATTERS[format](rows))
  io.note(
    `Replace the receivers and images first. The images at example.com don't exist, so the rows would fail.
Check the file: gdn batch validate <file> --check-files
Mint the drop: gdn batch mint <file>`,
  )
}

type Rows = readonly Readonly<Record<string, string>>[]

const FORMATTERS: Readonly<Record<Format, (rows: Rows) => string>> = {
  csv: (rows) =>
    [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))].map((cells) => csvLine(cells)).join(''),
  json: (rows) => `${JSON.stringify(rows, null, 2)}\n`,
  jsonl: (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
}
