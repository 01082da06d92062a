import { type Measurement, type RecordedFigure, short } from './page.ts'

type ComparedFigure = RecordedFigure & { against: { what: string; value: number }; ratio: number }
type Wanted = [part: string, what: string, against?: string | undefined]

/** A row of README.md: what it says, the figure, how to write values, and the name of the baseline. */
const MEASURED: [string, Wanted, (value: number) => string, string][] = [
  [
    'NFTs deployed per second, 50 per request, with files',
    ['throughput', 'NFTs minted, 50 per request, 48 uploaded images', 'script, sequential mintBatch(50)'],
    short,
    'a viem script, `mintBatch(50)`',
  ],
  [
    'The same, one image per NFT over HTTP',
    ['throughput', 'NFTs minted, 50 per request, one image per NFT over HTTP', 'script, sequential mintBatch(50)'],
    short,
    'that script',
  ],
  [
    'Gas per NFT, 50 minted to one receiver',
    ['gas', 'mint of 50 to one receiver, per token', 'OpenZeppelin'],
    short,
    'OpenZeppelin ERC721URIStorage',
  ],
  ['', ['gas', 'mint of 50 to one receiver, per token', 'ERC721A with a base URI'], short, 'ERC721A with a base URI'],
  [
    'Gas of the first transfer of each NFT',
    ['gas', 'first transfer of these 50, per token', 'OpenZeppelin'],
    short,
    'OpenZeppelin ERC721URIStorage',
  ],
  [
    '10,000 rows at 2 requests per second, simulated',
    ['batch', '10,000 rows, 50 per request, simulated', 'the ideal'],
    seconds,
    'the ideal at that rate',
  ],
  [
    'Backend started and ready',
    ['start', 'warm start until ready', 'node -e 0, then anvil alone'],
    milliseconds,
    'Node.js and the dev chain alone',
  ],
  ['`gdn nft show`', ['cli', 'gdn nft show', 'node -e 0'], milliseconds, 'Node.js alone'],
]

/** Returns the tables of other pages that quote figures, by name. @throws Error if a figure is not recorded */
export const quotedTables = (measurements: readonly Measurement[]): Record<string, string> => ({
  measured: measuredTable(measurements),
  compared: comparedTable(measurements),
})

function measuredTable(measurements: readonly Measurement[]): string {
  const rows = MEASURED.map(([label, wanted, write, baseline]) => {
    const { value, against, ratio, is_paired } = figureOf(measurements, wanted)
    const compared = `${baseline}: ${write(against.value)}`
    const figure = label === '' ? '| | |' : `| ${label} | ${write(value)} |`
    return `${figure} ${compared} | ${short(ratio)}x${is_paired ? '*' : ''} |`
  })
  return ['| What | gdn | Compared with | Ratio |', '|---|---|---|---|', ...rows].join('\n')
}

/** Sizes and times of the package and the executable. */
function comparedTable(measurements: readonly Measurement[]): string {
  const valuesOf = (what: string) => {
    const { value, against } = figureOf(measurements, ['executable', what])
    return { executable: value, npm: against.value }
  }
  const archive = valuesOf('size of the archive')
  const installed = valuesOf('size of the unpacked archive')
  const bare = valuesOf('installed size with --omit=optional')
  const unpacking = valuesOf('unpack the archive')
  const bareInstall = valuesOf('npm install --omit=optional')
  const times = (command: string, omitted: string) => {
    const { npm, executable } = valuesOf(command)
    return `| \`${command}\` | ${milliseconds(npm)} | ${omitted} | ${milliseconds(executable)} |`
  }
  const packed = megabytes(archive.npm)
  return [
    '| | npm package | with `--omit=optional` | executable |',
    '|---|---|---|---|',
    `| download | ${packed}, and the native packages | ${packed} | ${megabytes(archive.executable)} |`,
    `| installed | ${megabytes(installed.npm)}, and Node.js | ${megabytes(bare.executable)}, and Node.js | ${megabytes(installed.executable)} |`,
    '| packages | 16 | 1 | 1 archive |',
    `| time to install | ${seconds(unpacking.npm)} | ${seconds(bareInstall.executable)} | ${seconds(unpacking.executable)} |`,
    times('gdn --version', 'the same'),
    times('gdn nft show', 'the same'),
    times('gdn local start', 'not available'),
  ].join('\n')
}

function figureOf(measurements: readonly Measurement[], [part, what, against]: Wanted): ComparedFigure {
  const figures = measurements.flatMap((measurement) => measurement.figures)
  const figure = figures.find(
    (one) => one.part === part && one.what === what && (against === undefined || one.against?.what === against),
  )
  if (figure?.against === undefined || figure.ratio === undefined) {
    throw new Error(`no figure with a baseline is recorded for ${part}: ${what}`)
  }
  return { ...figure, against: figure.against, ratio: figure.ratio }
}

function milliseconds(value: number): string {
  return `${Math.round(value)} ms`
}

function seconds(value: number): string {
  return `${(value / 1000).toFixed(1)} s`
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
