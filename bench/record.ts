import { execFileSync } from 'node:child_process'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { findAnvil } from '../src/server/chain/evm/embedded/anvil-binary.ts'
import { findPostgres } from '../test/helpers/postgres-server.ts'
import { NODE } from './backend.ts'
import { type Figure, isPaired, median, ratioOf } from './figures.ts'
import type { Measurement, RecordedFigure } from './page.ts'

const firstLine = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { encoding: 'utf8' }).split('\n')[0] ?? ''

/** Returns a measurement of the checked out commit on this machine, without figures. */
export function newMeasurement(): Measurement {
  const postgres = findPostgres()
  return {
    commit: firstLine('git', 'rev-parse', '--short=8', 'HEAD'),
    date: new Date().toISOString().slice(0, 10),
    machine: {
      cpu: cpus()[0]?.model.trim() ?? 'unknown',
      cores: availableParallelism(),
      memory_gib: Math.round(totalmem() / 2 ** 30),
    },
    versions: {
      node: firstLine(NODE, '--version').slice(1),
      anvil: /\d+\.\d+\.\d+/.exec(firstLine(findAnvil(), '--version'))?.[0],
      postgresql:
        postgres === null ? undefined : /[\d.]+/.exec(firstLine(join(postgres, 'postgres'), '--version'))?.[0],
    },
    seconds: {},
    figures: [],
  }
}

/** The name of an indented row with the figure above it, compared with something else. */
const SAME = 'the same'

/**
 * Returns the measurements with the figures of a part in the newest one. Older figures of the part are dropped, so that
 * each part is in one table.
 *
 * @param seconds how long the part was measured
 */
export function record(
  [newest, ...others]: readonly [Measurement, ...Measurement[]],
  part: string,
  figures: readonly Figure[],
  seconds: number,
): [Measurement, ...Measurement[]] {
  const without = (one: Measurement) => ({ ...one, figures: one.figures.filter((figure) => figure.part !== part) })
  let heading = ''
  const added = figures.map((figure) => {
    // An indented row belongs to the one above it.
    const isIndented = figure.what.startsWith(' ')
    if (!isIndented) heading = figure.what
    const what = figure.what.trim()
    return recorded(part, isIndented && what !== SAME ? `${heading}: ${what}` : heading, figure)
  })
  return [
    { ...newest, seconds: { ...newest.seconds, [part]: seconds }, figures: [...without(newest).figures, ...added] },
    ...others.map(without).filter((one) => one.figures.length > 0),
  ]
}

function recorded(part: string, what: string, figure: Figure): RecordedFigure {
  const { unit, samples, against, budget } = figure
  return {
    ...{ part, what, value: median(samples), unit, budget },
    against: against && { what: against.what, value: median(against.samples) },
    ratio: ratioOf(figure) ?? undefined,
    is_paired: isPaired(figure) || undefined,
  }
}
