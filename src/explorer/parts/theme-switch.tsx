import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

const THEMES = ['auto', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]
const ICONS = { auto: 'auto', light: 'sun', dark: 'moon' } as const
const WORDS = { auto: 'system', light: 'light', dark: 'dark' } as const

const current = (): Theme => {
  const { theme } = document.documentElement.dataset
  return theme === 'light' || theme === 'dark' ? theme : 'auto'
}

function choose(theme: Theme): void {
  if (theme === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  try {
    if (theme === 'auto') localStorage.removeItem('theme')
    else localStorage.setItem('theme', theme)
  } catch {
    // If storage is blocked, the choice applies until the page is closed.
  }
}

export function ThemeSwitch() {
  const [theme, setTheme] = useState(current)
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto'
  const label = `Colors: ${WORDS[theme]}. Change to ${WORDS[next]}`
  const onClick = () => {
    choose(next)
    setTheme(next)
  }
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} onClick={onClick}>
      <Icon name={ICONS[theme]} size={19} />
    </button>
  )
}
