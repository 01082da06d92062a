import { GdnError } from '../../core/errors.ts'
import { eitherFlag, GdnCommand, switchFlag, valueFlag } from '../command.ts'
import type { Deps } from '../deps.ts'
import { addOutputFlags } from '../flags/common.ts'
import { address, blockchainName, notEmpty, oneOf } from '../flags/parse.ts'
import { choose } from '../prompt/ask-for.ts'
import { mayAsk } from '../prompt/ask-missing.ts'
import type { DataRecord } from '../render/cells.ts'
import { createOutput, isAskedFor } from '../render/output.ts'
import type { View } from '../render/view.ts'
import { initHosted } from './init/hosted.ts'
import type { InitFlags } from './init/init-flags.ts'
import { initLocal } from './init/local.ts'
import { nextSteps, type Setup } from './init/next-steps.ts'

const FIELDS = ['profile', 'base_url', 'key', 'blockchain', 'wallet', 'checked']
const VIEW: View = { fields: FIELDS, columns: FIELDS, id: 'profile' }

export function command(deps: Deps, run = init): GdnCommand {
  const initCommand = new GdnCommand({
    about:
      'Asks for what no flag gives: a hosted service or a backend on this machine, its URL and key, your usual blockchain and wallet. Tries them by a call without effect, and writes them to a profile, which is in use from then on.',
    examples: [
      ['Answer questions', 'gdn init'],
      ['A backend on this machine, without questions', 'gdn init --local --start -b polygon'],
      [
        'A hosted service, without questions',
        'pass gdn | gdn init --hosted --base-url https://api.example.com \\',
        '  --key-file - -b polygon --wallet 0x105BA2A3D820926739b9443a81fb7ab5C531e823',
      ],
    ],
  })
  switchFlag(initCommand, '--hosted', 'A service, at a URL')
  switchFlag(initCommand, '--local', 'The backend that gdn local start runs')
  valueFlag(initCommand, '--base-url <url>', 'Address of the service', { parse: notEmpty })
  valueFlag(initCommand, '--key-file <file>', 'File that holds its API key; - is standard input', { parse: notEmpty })
  valueFlag(initCommand, '--store <keyring|file>', 'Where to keep the key (the keyring, where one works)', {
    parse: oneOf(['keyring', 'file']),
  })
  valueFlag(initCommand, '-b, --blockchain <name>', 'Your usual blockchain', { parse: blockchainName })
  valueFlag(initCommand, '--wallet <address>', 'Your usual wallet', { parse: address })
  valueFlag(initCommand, '--profile <name>', 'Name of the profile (default)', { parse: notEmpty })
  eitherFlag(initCommand, 'start', 'Start the local backend', "Don't start the local backend")
  switchFlag(initCommand, '--no-check', "Don't try what was given")
  switchFlag(initCommand, '-y, --yes', 'Replace a profile of that name')
  addOutputFlags(initCommand)
  return initCommand.action(async (flags: InitFlags) => await run(deps, flags)) as GdnCommand
}

export async function init(deps: Deps, flags: InitFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, VIEW)
  const setup = (await isLocal(deps, flags)) ? await initLocal(deps, flags) : await initHosted(deps, flags)
  if (isAskedFor(flags)) await output.one(asJson(setup))
  for (const line of nextSteps(setup)) io.note(line)
}

async function isLocal({ io }: Deps, { hosted, local, baseUrl }: InitFlags): Promise<boolean> {
  if (local && (hosted || baseUrl !== undefined)) {
    throw new GdnError('usage', `--local and ${hosted ? '--hosted' : '--base-url'} name two servers`, {
      hint: 'give one of them',
    })
  }
  if (local || hosted || baseUrl !== undefined) return local === true
  if (!mayAsk(io)) {
    throw new GdnError('usage', 'which server is not said', {
      place: { flag: '--hosted' },
      hint: 'add --local, or --hosted --base-url <url> --key-file <file>',
    })
  }
  return await choose(io, {
    message: 'Which server?',
    flag: '--hosted',
    choices: [
      { name: 'Hosted', value: false, description: 'a service, at a URL, with an API key' },
      { name: 'Local', value: true, description: 'a backend of your own on this machine; needs no key' },
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
