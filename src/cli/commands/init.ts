import { GdnError } from '../../core/errors.ts'
import { GdnCommand, noServerNamedError } from '../command.ts'
import type { Deps } from '../deps.ts'
import { addOutputFlags, addressOrName, addStateDirFlag, blockchainName, notEmpty, oneOf } from '../flags/common.ts'
import { safe } from '../io/io.ts'
import { choose, mayPrompt } from '../prompt/ask-missing.ts'
import { createOutput, type DataRecord, isOutputRequested, type View } from '../render/output.ts'
import { initHosted } from './init/hosted.ts'
import type { InitFlags } from './init/init-flags.ts'
import { initLocal } from './init/local.ts'
import { nextSteps, type Setup } from './init/next-steps.ts'

const FIELDS = ['profile', 'base_url', 'key', 'blockchain', 'wallet', 'checked']
const VIEW: View = { fields: FIELDS, columns: FIELDS, id: 'profile' }

export function command(deps: Deps, run = init): GdnCommand {
  return new GdnCommand({
    about:
      'The command prompts for the values that no flag sets: the server, its URL and API key, and your default blockchain and wallet. The server is a hosted service, or a backend on this machine. The command checks the values with a request that changes nothing, saves them in a profile and selects the profile.',
    examples: [
      ['Set up gdn interactively', 'gdn init'],
      ['Set up a backend on this machine without prompts', 'gdn init --local --start -b polygon'],
      [
        'Set up a hosted service without prompts',
        'pass gdn | gdn init --hosted --base-url https://api.example.com \\',
        '  --key-file - -b polygon --wallet 0x105BA2A3D820926739b9443a81fb7ab5C531e823',
      ],
    ],
  })
    .switchFlag('--hosted', 'Use a hosted service')
    .switchFlag('--local', 'Use the local backend (gdn local start)')
    .valueFlag('--base-url <url>', 'URL of the service', notEmpty)
    .valueFlag('--key-file <file>', 'File with the API key, or - for standard input', notEmpty)
    .valueFlag(
      '--store <keyring|file>',
      'Where to store the key (the keyring, if available)',
      oneOf(['keyring', 'file']),
    )
    .valueFlag('-b, --blockchain <name>', 'Default blockchain', blockchainName)
    .valueFlag('--wallet <address>', 'Default wallet', addressOrName)
    .valueFlag('--profile <name>', 'Name of the profile (default, or local for the local backend)', notEmpty)
    .eitherFlag('start', 'Start the local backend', "Don't start the local backend")
    .switchFlag('--no-check', "Don't check the server and the key")
    .switchFlag('-y, --yes', 'Replace an existing profile with this name')
    .with(addStateDirFlag, addOutputFlags)
    .action(async (flags: InitFlags) => await run(deps, flags))
}

export async function init(deps: Deps, flags: InitFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, VIEW)
  const setup = (await selectsLocal(deps, flags)) ? await initLocal(deps, flags) : await initHosted(deps, flags)
  if (isOutputRequested(flags)) await output.one(asJson(setup))
  if (setup.override !== null) io.warn(safe(setup.override))
  for (const line of nextSteps(setup)) io.note(line)
}

async function selectsLocal({ io }: Deps, { hosted, local, baseUrl }: InitFlags): Promise<boolean> {
  if (local && (hosted || baseUrl !== undefined)) {
    throw new GdnError('usage', `--local and ${hosted ? '--hosted' : '--base-url'} select different servers`, {
      hint: 'Use one of them.',
    })
  }
  if (local || hosted || baseUrl !== undefined) return local === true
  if (!mayPrompt(io)) {
    throw noServerNamedError('--hosted', 'Add --local, or --hosted --base-url <url> --key-file <file>.')
  }
  return await choose(io, {
    message: 'Which server?',
    flag: '--hosted',
    choices: [
      { name: 'Hosted', value: false, description: 'a service at a URL, with an API key' },
      { name: 'Local', value: true, description: 'a local backend on this machine, which needs no key' },
    ],
  })
}

function asJson({ profile, baseUrl, keptIn, blockchain, wallet, isChecked }: Setup): DataRecord {
  return {
    profile,
    base_url: baseUrl,
    key: keptIn,
    blockchain: blockchain ?? null,
    wallet: wallet ?? null,
    checked: isChecked,
  }
}
