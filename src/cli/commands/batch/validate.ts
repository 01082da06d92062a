import type { Blockchain } from '../../../api/blockchains.ts'
import type { Settings } from '../../../config/settings.ts'
import { GdnError } from '../../../core/errors.ts'
import { validateManifest } from '../../../manifest/read.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags } from '../../flags/common.ts'
import { safe } from '../../io.ts'
import { createOutput } from '../../output.ts'
import type { View } from '../../view.ts'
import { count } from '../../waiting.ts'
import { whichCollection } from '../../which-collection.ts'
import { addTargetFlags, type BatchMintFlags, TARGET_ALIASES } from './flags.ts'
import { manifestOptions, manifestSource } from './manifest-options.ts'
import { quote } from './run-commands.ts'

const VIEW: View = {
  fields: ['valid', 'rows', 'issue_count', 'receivers', 'files', 'blockchain', 'contract_address'],
  columns: ['valid', 'rows', 'issue_count', 'receivers', 'files'],
  id: 'valid',
}

export function command(deps: Deps, run = validate): GdnCommand {
  const validateCommand = new GdnCommand({
    name: 'batch validate',
    summary: 'Check a manifest; nothing is sent',
    about:
      'Every row, every field, every local file: all faults at once, each with its line and column. Exit code 2 if there is one.',
    examples: [
      ['A manifest', 'gdn batch validate drop.csv -b polygon'],
      ['From standard input', 'make-rows | gdn batch validate - -b polygon --json'],
    ],
    aliases: TARGET_ALIASES,
  })
  validateCommand.argument('<manifest>')
  addTargetFlags(validateCommand)
  addServerFlags(validateCommand)
  addOutputFlags(validateCommand)
  return validateCommand.action(async (manifest: string, flags: BatchMintFlags) => {
    await run(deps, manifest, flags)
  }) as GdnCommand
}

export async function validate(deps: Deps, manifest: string, flags: BatchMintFlags): Promise<void> {
  const output = createOutput(deps.io, flags, VIEW)
  const settings = await deps.settings(flags)
  const options = manifestOptions(flags)
  const source = manifestSource(deps, manifest)
  const first = await validateManifest(source, {
    ...options,
    blockchain: options.blockchain ?? settings.blockchain?.value ?? (await knownBlockchain(settings)),
  })
  const { rows, issues, issueCount, receivers, files, target } = first
  if (issueCount > 0) {
    const [fault] = issues
    throw new GdnError(
      'invalid_manifest',
      `${fault?.message ?? 'is no manifest'}${issueCount > 1 ? ` (and ${issueCount - 1} more)` : ''}`,
      {
        ...(fault === undefined ? {} : { place: fault.place }),
        ...(fault?.hint === undefined ? {} : { hint: fault.hint }),
        details: { issues, issue_count: issueCount },
      },
    )
  }
  const { blockchain, contractAddress } = target
  await output.one({
    valid: true,
    rows,
    issue_count: 0,
    receivers,
    files,
    blockchain,
    contract_address: contractAddress,
  })
  const next = manifest === '-' ? '' : ` Send them: gdn batch mint ${quote(safe(manifest))}${flagsAgain(flags)}`
  deps.io.note(`${count(rows, 'row')} for ${count(receivers, 'receiver')}: no faults.${next}`)
}

/** The flags that a manifest was checked with, to send it with. */
function flagsAgain(flags: BatchMintFlags): string {
  const { contract, blockchain, receiver, sender, baseUrl, profile } = flags
  const values = { contract, blockchain, receiver, sender, 'base-url': baseUrl, profile }
  const given = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name} ${quote(safe(value))}`],
  )
  if (flags.extraColumns) given.push('--extra-columns')
  if (flags.local) given.push('--local')
  return given.map((flag) => ` ${flag}`).join('')
}

/** Of the only collection made from this machine, where that is clear; validating needs no server. */
async function knownBlockchain(settings: Settings): Promise<Blockchain | null> {
  try {
    return (await whichCollection(settings, await settings.server())).blockchain
  } catch {
    return null
  }
}
