import type { ColorLevel } from '../io/color.ts'

/** How a terminal is sent a picture: by a protocol of its own, or as blocks of 256 or 16 million colors. */
export type Way = 'kitty' | 'iterm' | 'sixel' | 'blocks' | 'blocks-256'

interface Terminal {
  env: NodeJS.ProcessEnv
  /** Whether stdout is one. */
  tty: boolean
  colors: ColorLevel
  /** Whether its font has blocks. */
  hasBlocks: boolean
}

const isSet = (value: string | undefined) => value !== undefined && value !== ''

/**
 * How a terminal draws pictures, by what it says of itself in the environment; null where it draws none. It isn't
 * asked: an answer would come late, or never, or among what a person types. GDN_IMAGES goes before what is found out.
 */
export function wayToDraw({ env, tty, colors, hasBlocks }: Terminal): Way | null {
  if (!tty || env.TERM === 'dumb' || isSet(env.CI)) return null
  const blocks = !hasBlocks || colors < 2 ? null : colors === 2 ? 'blocks-256' : 'blocks'
  const wanted = env.GDN_IMAGES
  if (wanted === 'off') return null
  if (wanted === 'kitty' || wanted === 'iterm' || wanted === 'sixel') return wanted
  if (wanted === 'blocks') return blocks
  return (isMultiplexed(env) ? null : ownProtocol(env)) ?? blocks
}

/** tmux and screen stand between, and know text only. */
const isMultiplexed = ({ TMUX, STY, TERM = '' }: NodeJS.ProcessEnv) =>
  isSet(TMUX) || isSet(STY) || /^(?:screen|tmux)/.test(TERM)

function ownProtocol(env: NodeJS.ProcessEnv): Way | null {
  const { TERM = '', KONSOLE_VERSION = '' } = env
  const program = (env.TERM_PROGRAM ?? '').toLowerCase()
  if (isSet(env.KITTY_WINDOW_ID) || TERM === 'xterm-kitty') return 'kitty'
  if (program === 'ghostty' || TERM === 'xterm-ghostty') return 'kitty'
  // Konsole has it since 22.04.
  if (Number(KONSOLE_VERSION) >= 220_400) return 'kitty'
  // Windows of iTerm2 say so over ssh, too; WezTerm's kitty protocol is off unless it is turned on.
  if (program === 'iterm.app' || env.LC_TERMINAL === 'iTerm2') return 'iterm'
  if (program === 'wezterm' || isSet(env.WEZTERM_PANE) || program === 'mintty' || program === 'rio') return 'iterm'
  if (/^(?:foot|mlterm|yaft|contour)|sixel/.test(TERM)) return 'sixel'
  return null
}
