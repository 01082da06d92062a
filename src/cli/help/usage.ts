import type { GdnCommand } from '../command.ts'

/** Returns the usage line of a command, such as `gdn nft show [nft_gdn_id...] [flags]`. */
export function formatUsage(command: GdnCommand): string {
  const args = command.registeredArguments.map((argument) => {
    const name = argument.variadic ? `${argument.name()}...` : argument.name()
    return argument.required ? `<${name}>` : `[${name}]`
  })
  return ['gdn', command.name(), ...(command.usageLine === '' ? [...args, '[flags]'] : [command.usageLine])].join(' ')
}
