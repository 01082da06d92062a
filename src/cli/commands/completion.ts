import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GdnError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { quoted } from '../../core/quoted.ts'
import { GdnCommand } from '../command.ts'
import type { Deps } from '../deps.ts'
import { addCommonFlags } from '../flags/common.ts'
import { packageRoot } from '../package-root.ts'

/** The file for each shell in the package's `completions` folder. Each file has the name that the shell expects. */
const COMPLETION_FILES = { bash: 'gdn.bash', zsh: '_gdn', fish: 'gdn.fish', powershell: 'gdn.ps1' } as const
export type Shell = keyof typeof COMPLETION_FILES
export const SHELLS = Object.keys(COMPLETION_FILES) as Shell[]

export function command(deps: Deps, run = completion): GdnCommand {
  return new GdnCommand({
    about:
      'The script completes commands, flags and their values, and the names of profiles, runs, collections and wallets on this machine. The script contacts no server. To install it, use one of the examples, then open a new shell. If you save the script in a file, save it again after you update gdn.',
    examples: [
      ['bash: add to ~/.bashrc', 'source <(gdn completion bash)'],
      [
        'bash with the bash-completion package, which loads the script on demand',
        'mkdir -p ~/.local/share/bash-completion/completions',
        BASH_INSTALL_COMMAND,
      ],
      ['zsh: add to ~/.zshrc', 'autoload -Uz compinit && compinit', 'source <(gdn completion zsh)'],
      [
        'zsh with a file: first add fpath+=~/.zfunc to ~/.zshrc, before compinit',

        'mkdir -p ~/.zfunc',
        'gdn completion zsh > ~/.zfunc/_gdn',
      ],
      ['fish', 'mkdir -p ~/.config/fish/completions', 'gdn completion fish > ~/.config/fish/completions/gdn.fish'],
      ['PowerShell: add to $PROFILE', 'gdn completion powershell | Out-String | Invoke-Expression'],
    ],
  })
    .wordArgument('<shell>', SHELLS)
    .with(addCommonFlags)
    .action(async (shell: string) => await run(deps, shell))
}

const BASH_INSTALL_COMMAND = 'gdn completion bash > ~/.local/share/bash-completion/completions/gdn'

export async function completion({ io }: Pick<Deps, 'io'>, shellName: string): Promise<void> {
  const shell = SHELLS.find((name) => name === shellName)
  if (shell === undefined) {
    const near = shellName === 'pwsh' ? 'powershell' : nearest(shellName, SHELLS)
    throw new GdnError('usage', `unknown shell ${quoted(shellName)}`, {
      hint: near === undefined ? `Use one of ${SHELLS.join(', ')}.` : `Did you mean ${near}?`,
    })
  }
  await io.data(await readFile(join(packageRoot(), 'completions', COMPLETION_FILES[shell]), 'utf8'))
}
