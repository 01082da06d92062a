import type { ColorLevel } from '../io/color.ts'

/**
 * A method for drawing an image on a terminal: the terminal's own protocol, or block characters in 256 or 16 million
 * colors.
 */
export type DrawMethod = 'kitty' | 'iterm' | 'sixel' | 'blocks' | 'blocks-256'

interface Terminal {
  env: NodeJS.ProcessEnv
  tty: boolean
  colors: ColorLevel
  /** Whether the terminal's font has block characters. */
  hasBlocks: boolean
}

const isNotEmpty = (value: string | undefined) => value !== undefined && value !== ''

/**
 * Returns the drawing method of a terminal, based on the environment; null if the terminal can't draw images.
 * GDN_IMAGES overrides the detection. gdn doesn't query the terminal, because the response could be late, missing or
 * mixed with typed input.
 */
export function detectDrawMethod({ env, tty, colors, hasBlocks }: Terminal): DrawMethod | null {
  if (!tty || env.TERM === 'dumb' || isNotEmpty(env.CI)) return null
  const blocks = !hasBlocks || colors < 2 ? null : colors === 2 ? 'blocks-256' : 'blocks'
  const setting = env.GDN_IMAGES
  if (setting === 'off') return null
  if (setting === 'kitty' || setting === 'iterm' || setting === 'sixel') return setting
  if (setting === 'blocks') return blocks
  return (isMultiplexed(env) ? null : detectProtocol(env)) ?? blocks
}

/** Returns whether the terminal runs in tmux or screen, which pass only text through. */
const isMultiplexed = ({ TMUX, STY, TERM = '' }: NodeJS.ProcessEnv) =>
  isNotEmpty(TMUX) || isNotEmpty(STY) || /^(?:screen|tmux)/.test(TERM)

function detectProtocol(env: NodeJS.ProcessEnv): DrawMethod | null {
  const { TERM = '', KONSOLE_VERSION = '' } = env
  const program = (env.TERM_PROGRAM ?? '').toLowerCase()
  if (isNotEmpty(env.KITTY_WINDOW_ID) || TERM === 'xterm-kitty') return 'kitty'
  if (program === 'ghostty' || TERM === 'xterm-ghostty') return 'kitty'
  // Konsole supports the kitty protocol since version 22.04.
  if (Number(KONSOLE_VERSION) >= 220_400) return 'kitty'
  // iTerm2 sets LC_TERMINAL in SSH sessions too. WezTerm's kitty protocol is off by default, so use the iTerm2
  // protocol.
  if (program === 'iterm.app' || env.LC_TERMINAL === 'iTerm2') return 'iterm'
  if (program === 'wezterm' || isNotEmpty(env.WEZTERM_PANE) || program === 'mintty' || program === 'rio') return 'iterm'
  if (/^(?:foot|mlterm|yaft|contour)|sixel/.test(TERM)) return 'sixel'
  return null
}
