"""What every floor may use and nothing here knows of translation: errors, lines of text, files, devices, processes."""
