import { count } from './count.ts'
/** Formats a limit in the largest unit that divides it evenly, such as `64 MiB` or `100 bytes`. */
export function formatBytes(bytes: number): string {
  if (bytes >= 2 ** 20 && bytes % 2 ** 20 === 0) return `${bytes / 2 ** 20} MiB`
  if (bytes >= 2 ** 10 && bytes % 2 ** 10 === 0) return `${bytes / 2 ** 10} KiB`
  return count(bytes, 'byte')
}
