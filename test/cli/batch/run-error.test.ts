import { describe, expect, test } from 'vitest'
import type { BatchSummary } from '../../../src/batch/types.ts'
import { createRunError, explainStop } from '../../../src/cli/batch/report/run-error.ts'
import { runCommands } from '../../../src/cli/batch/runs/run-commands.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { stopError } from '../../../src/operations/retries.ts'
import { counts } from '../progress/events.ts'

const summary = (some: Partial<BatchSummary>): BatchSummary => ({
  run: { id: '3f9a000000000000', name: 'drop-3f9a' },
  counts: counts({}),
  burned: 0,
  requests: 1,
  attempts: 1,
  changes: { added: 0, changed: 0, keptAccepted: 0, removed: 0, removedUnsent: 0, removedFailed: 0, examples: [] },
  stopped: null,
  unknownRows: [],
  failedRows: [],
  pendingRows: [],
  acceptedRows: [],
  absentRows: [],
  undecidedRows: [],
  doubledRows: [],
  reconciled: null,
  exitCode: 0,
  ...some,
})

const rows = (...lines: number[]) => lines.map((line) => ({ key: `k${line}`, line }))
const because = <Key extends string>(key: Key, text: string, ...lines: number[]) =>
  rows(...lines).map((row) => ({ ...row, [key]: text }) as typeof row & Record<Key, string>)

const commands = runCommands('drop-3f9a', undefined)

test('a run that can no longer reach the local backend says that it is not running, and how to start it', async () => {
  const { code, message, hint = null } = stopError('not_sent', 'connect ECONNREFUSED 127.0.0.1:4680')
  const stopped = { code, message, hint }
  const server = async () => {
    throw new GdnError('unreachable', 'the local backend is not running', { hint: 'Run `gdn local start`.' })
  }
  expect(await explainStop({ server }, stopped)).toEqual({
    code: 'unreachable',
    message: 'the local backend is not running',
    hint: 'Run `gdn local start`.',
  })
  const running = async () => ({}) as Awaited<ReturnType<typeof server>>
  expect(await explainStop({ server: running }, stopped)).toBe(stopped)
  const other = { ...stopped, code: 'refused' as const }
  expect(await explainStop({ server }, other)).toBe(other)
})

describe('the error of a run that did not succeed', () => {
  test('is null if every row was deployed', () => {
    expect(createRunError(summary({ counts: counts({ deployed: 3 }) }), commands)).toBeNull()
  })

  test('lists failed rows, each reason once, and the command that retries them', () => {
    const failedRows = [...because('error', 'not liked', 3, 4, 5, 9), ...because('error', 'file is gone', 7)]
    const error = createRunError(
      summary({ counts: counts({ deployed: 1, failed: 5 }), failedRows, exitCode: 7 }),
      commands,
    )
    expect(error?.exitCode).toBe(7)
    expect(error?.message).toBe('5 rows failed:\n  lines 3-5, 9: not liked\n  line 7: file is gone')
    expect(error?.hint).toBe(
      'After you fix the cause, run `gdn batch retry drop-3f9a` to retry failed rows. If you edit the manifest, run `gdn batch mint` again instead.\nRun `gdn batch results drop-3f9a` to list every row.',
    )
  })

  test('names one command for failed rows if the rows were applied', () => {
    const applied = runCommands('drop-3f9a', undefined, { resume: 'gdn apply drop.csv', retry: 'gdn apply drop.csv' })
    const error = createRunError(summary({ counts: counts({ failed: 1 }), exitCode: 7 }), applied)
    expect(error?.hint?.split('\n')[0]).toBe('After you fix the cause, run `gdn apply drop.csv` to retry failed rows.')
  })

  test('lists rows with an unknown outcome by what is known of them, and every command that resolves them', () => {
    const error = createRunError(
      summary({
        counts: counts({ unknown: 5 }),
        unknownRows: rows(2, 3, 4, 5, 6),
        absentRows: because('reason', 'later rows are there', 2, 3),
        undecidedRows: because('reason', '2 NFTs fit 1 row', 5),
        exitCode: 9,
      }),
      commands,
    )
    expect(error).toMatchObject({ code: 'unknown_outcome', exitCode: 9 })
    expect(error?.message.split('\n')).toEqual([
      'the outcome of 5 rows is unknown:',
      '  lines 4, 6',
      '  lines 2-3: absent: later rows are there',
      '  line 5: undecided: 2 NFTs fit 1 row',
    ])
    expect(error?.hint?.split('\n')).toEqual([
      'Rows with an unknown outcome may have been minted. gdn sends them again only if this cannot create a second NFT.',
      'Run `gdn batch reconcile drop-3f9a` to search for them again.',
      'Run `gdn batch reconcile drop-3f9a --row <key>=<id>` to set the outcome of a row: the ID of its NFT, or absent.',
      'Run `gdn batch retry drop-3f9a --absent` to retry absent rows.',
      'Run `gdn batch results drop-3f9a` to list every row.',
    ])
    expect(error?.details).toMatchObject({ absent_rows: [{ line: 2 }, { line: 3 }], undecided_rows: [{ key: 'k5' }] })
  })

  test('does not suggest a retry of absent rows if none is absent', () => {
    const one = summary({ counts: counts({ unknown: 1 }), unknownRows: rows(2), exitCode: 9 })
    expect(createRunError(one, commands)?.hint).not.toContain('--absent')
  })

  test('lists as many rows as are known', () => {
    const unknownRows = rows(...Array.from({ length: 50 }, (_, i) => 2 + 2 * i))
    const error = createRunError(summary({ counts: counts({ unknown: 120 }), unknownRows, exitCode: 9 }), commands)
    expect(error?.message).toBe(
      'the outcome of 120 rows is unknown (the first 50 are listed):\n  lines 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, …',
    )
  })

  test('lists the first five of many reasons', () => {
    const failedRows = [1, 2, 3, 4, 5, 6, 7].flatMap((line) => because('error', `reason ${line}`, line))
    const error = createRunError(summary({ counts: counts({ failed: 7 }), failedRows, exitCode: 7 }), commands)
    expect(error?.message).toMatch(/line 5: reason 5\n {2}and 2 more rows, for other reasons$/)
  })

  test.each<[Partial<BatchSummary>, string, number]>([
    [{ counts: counts({ unknown: 1, accepted: 1, failed: 1 }), exitCode: 9 }, 'unknown_outcome', 9],
    [{ counts: counts({ accepted: 1, failed: 1 }), exitCode: 8 }, 'pending', 8],
    [{ counts: counts({ failed: 1 }), exitCode: 7 }, 'batch_failed_rows', 7],
    [
      {
        stopped: { code: 'unauthorized', message: 'no such key', hint: 'check it' },
        counts: counts({ pending: 1 }),
        exitCode: 4,
      },
      'unauthorized',
      4,
    ],
    [
      {
        stopped: { code: 'interrupted', message: 'interrupted', hint: null },
        counts: counts({ unknown: 1 }),
        exitCode: 130,
      },
      'interrupted',
      130,
    ],
  ])('maps %j to %s and exit code %i', (some, code, exitCode) => {
    expect(createRunError(summary(some), commands)).toMatchObject({ code, exitCode })
  })

  test('starts with what stopped the run, and its hint', () => {
    const stopped = { code: 'unreachable' as const, message: 'nothing answers', hint: 'start it' }
    const error = createRunError(
      summary({ stopped, counts: counts({ pending: 2, deployed: 1 }), exitCode: 6 }),
      commands,
    )
    expect(error?.message).toBe('nothing answers\n2 rows are pending (not sent yet)')
    expect(error?.hint).toBe(
      'start it\nRun `gdn batch resume drop-3f9a` to resume the run.\nRun `gdn batch results drop-3f9a` to list every row.',
    )
  })

  test.each(['not_sent', 'unauthorized', 'forbidden'] as const)('says once how to resume after %s', (cause) => {
    const { code, message, hint = null } = stopError(cause, 'no')
    const stopped = { code, message, hint }
    const error = createRunError(summary({ stopped, counts: counts({ pending: 2 }), exitCode: 6 }), commands)
    expect(error?.hint?.match(/resume the run|again to resume/g)).toEqual(['resume the run'])
  })

  test('lists rows that may have been minted twice with their other NFT', () => {
    const doubledRows = [{ key: 'a', line: 3, reason: 'the run b.csv minted the same row: 01a1', nft_gdn_id: '01a1' }]
    const error = createRunError(summary({ counts: counts({ deployed: 2 }), doubledRows, exitCode: 7 }), commands)
    expect(error).toMatchObject({ exitCode: 7, details: { doubled_rows: doubledRows } })
    expect(error?.message).toContain(
      '1 row may have been minted twice:\n  line 3: the run b.csv minted the same row: 01a1',
    )
  })

  test('lists rows that differ on chain separately, after other errors', () => {
    const differing = because('differs', 'owner is 0x1, not 0x2', 4)
    const verified = { counts: { differing: 1 }, differing }
    expect(createRunError(summary({ counts: counts({ deployed: 1 }) }), commands, verified)).toMatchObject({
      code: 'verify_failed',
      exitCode: 5,
      message: '1 row differs on chain or in storage from what was requested:\n  line 4: owner is 0x1, not 0x2',
    })
    const failed = summary({ counts: counts({ failed: 1 }), exitCode: 7 })
    expect(createRunError(failed, commands, verified)).toMatchObject({
      exitCode: 7,
      message: expect.stringContaining('from what was requested'),
      details: { differing_rows: differing },
    })
  })

  test('includes --state-dir if it was given, and quotes arguments for a shell', () => {
    expect(runCommands("it's", '/a b')('retry', '--absent')).toBe(
      "gdn batch retry 'it'\\''s' --absent --state-dir '/a b'",
    )
  })
})
