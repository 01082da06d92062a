// This script runs in the head before the first paint, so that the page doesn't flash in the wrong colors.
{
  const chosen = (() => {
    try {
      return localStorage.getItem('theme')
    } catch {
      return null
    }
  })()
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
}
