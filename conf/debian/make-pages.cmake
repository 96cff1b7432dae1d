# Run while the package is put together: the manual and the completions, as the binary prints them.
function(print file)
  execute_process(COMMAND ${lineward} ${ARGN} OUTPUT_FILE ${made}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
print(lineward.1 man)
print(lineward.yaml.5 man lineward.yaml)
foreach(shell bash zsh fish)
  print(lineward.${shell} completion ${shell})
endforeach()
# Without name and time: the same sources make the same package.
foreach(file lineward.1 lineward.yaml.5 changelog)
  execute_process(COMMAND gzip -9nkf ${made}/${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
